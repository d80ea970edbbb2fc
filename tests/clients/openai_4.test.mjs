import { openai } from './clients/openai.mjs';
import { everything } from './scenarios/everything.mjs';
import { openaiOnly } from './scenarios/openai.mjs';
import { load } from './support/packages.mjs';

// Another HTTP stack than the later versions': it does not use Node's fetch.
const client = { ...openai('openai 4', 'openai-4'), fetch: load('node-fetch') };
everything(client);
openaiOnly(client);
