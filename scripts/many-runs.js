// Preloaded by `scripts/test.js --long`: every property of fast-check is tried forty times as often
// as it says, within a limit of time.
import { register } from 'node:module';

register('./many-runs-hooks.js', import.meta.url);
