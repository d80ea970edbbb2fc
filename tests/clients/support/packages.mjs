// The client libraries. They are installed in the build folder, not beside the tests, so imports could not find them.
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const load = createRequire(join(process.env.SWITCHYARD_CLIENT_PACKAGES, 'package.json'));
