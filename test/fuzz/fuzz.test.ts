import { it } from 'node:test';
import { byLength } from '../support/run-length.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { fuzz } from './run.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_FUZZ_SEED');
const requests = numberSetting('TABULARIUM_FUZZ_REQUESTS', byLength({ short: 400, long: 100_000 }));
const repeat = `TABULARIUM_FUZZ_SEED=${seed} TABULARIUM_FUZZ_REQUESTS=${requests}`;

it(`answers ${requests} mutated requests properly and stays sound (seed ${seed})`, async (t) => {
  await fuzz(t, { seed, requests, flags: [], repeat });
});
