import { openai } from './clients/openai.mjs';
import { everything } from './scenarios/everything.mjs';
import { openaiOnly } from './scenarios/openai.mjs';

const client = openai('openai', 'openai');
everything(client);
openaiOnly(client);
