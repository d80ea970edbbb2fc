import { langchain } from './clients/langchain.mjs';
import { everything } from './scenarios/everything.mjs';
import { langchainOnly } from './scenarios/langchain.mjs';

everything(langchain);
langchainOnly(langchain);
