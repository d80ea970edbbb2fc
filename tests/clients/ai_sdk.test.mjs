import { aiSdk } from './clients/ai_sdk.mjs';
import { aiSdkOnly } from './scenarios/ai_sdk.mjs';
import { everything } from './scenarios/everything.mjs';

everything(aiSdk);
aiSdkOnly(aiSdk);
