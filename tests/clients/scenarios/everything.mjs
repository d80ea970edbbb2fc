import { brokenStream } from './broken_stream.mjs';
import { errors } from './errors.mjs';
import { fallback } from './fallback.mjs';
import { idempotency } from './idempotency.mjs';
import { leaving } from './leaving.mjs';
import { service } from './service.mjs';

/** What must hold for every client library. Each test's name begins with that of the client. */
export function everything(client) {
  for (const scenarios of [service, fallback, brokenStream, errors, idempotency, leaving]) scenarios(client);
}
