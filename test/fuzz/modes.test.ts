import { it } from 'node:test';
import { byLength, sampled, costly } from '../support/run-length.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { fuzz } from './run.js';

const seed = seedSetting('TABULARIUM_FUZZ_SEED');
const requests = numberSetting(
  'TABULARIUM_FUZZ_MODE_REQUESTS',
  byLength({ short: 250, long: 5000 }),
);
const repeat = `TABULARIUM_FUZZ_SEED=${seed} TABULARIUM_FUZZ_MODE_REQUESTS=${requests}`;

for (const flags of sampled([
  ['--lenient'],
  ['--paging-test-mode', '7'],
  ['--strict-api-versions'],
  ['--workers', '2'],
])) {
  const mode = flags.join(' ');
  it(
    `answers ${requests} mutated requests properly with ${mode} (seed ${seed})`,
    costly(),
    async (t) => {
      await fuzz(t, { seed, requests, flags, repeat });
    },
  );
}
