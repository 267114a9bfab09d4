import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { costly, byLength } from '../support/run-length.js';
import { seedSetting } from '../support/sim-settings.js';
import { protections, type Without } from './sim-store.js';
import { simulate } from './simulation.js';
import { Violation } from './violation.js';

// How to repeat and to run longer: docs/internals/partition.md.

const seed = seedSetting('TABULARIUM_PARTITION_SEED');
const seeds = byLength({ short: 6, long: 300 });

/** Protections whose lack is found in the first few runs, so that they are looked for each time. */
const soonFound = new Set<Without>(['barrier', 'dirty-log', 'read-guard']);
const seedsUntilFound = 600;

/** The seed that shows a violation. */
async function found(protection: Without): Promise<number | undefined> {
  for (let next = 0; next < seedsUntilFound; next += 1) {
    try {
      await simulate({ seed: seed + next, without: protection });
    } catch (error) {
      // A run that does not end shows no broken promise; nor does one that fails by itself.
      if (error instanceof Violation) return seed + next;
    }
  }
  return undefined;
}

void describe(`simulated moves, splits and merges (seed ${seed})`, () => {
  void it(`explains all calls by one order, over ${seeds} runs`, async () => {
    let ended = 0;
    for (let next = 0; next < seeds; next += 1) {
      try {
        ended += (await simulate({ seed: seed + next })).ended;
      } catch (error) {
        const again = `npm run sim:partition -- --seeds 1 --seed ${seed + next}`;
        throw new Error(again, { cause: error });
      }
    }
    assert.ok(ended > 0, 'operations came to their end');
  });

  for (const protection of protections) {
    const when = soonFound.has(protection) ? {} : costly();
    void it(`notices when the ${protection} is left out`, when, async () => {
      assert.notEqual(await found(protection), undefined);
    });
  }
});
