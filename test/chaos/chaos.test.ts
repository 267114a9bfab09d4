import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byLength, sampled, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { allScenarios } from './all-scenarios.js';
import { repeatLine, runRound } from './rounds.js';
import { areas, type Area } from './scenario.js';

// A random round of one area, and more of all in the long form. For longer runs see
// docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CHAOS_SEED');
const roundsOfArea = numberSetting('TABULARIUM_CHAOS_ROUNDS', byLength({ short: 1, long: 5 }));

void describe(`chaos (seed ${seed})`, () => {
  for (const area of sampled(areas, 1)) {
    void it(`keeps every promise under troubles of ${area}`, costly(), async (t) => {
      const random = new SimRandom(seed);
      const left = allScenarios.filter((scenario) => scenario.area === area);
      for (let round = 0; round < roundsOfArea && left.length > 0; round += 1) {
        const [scenario] = left.splice(random.int(left.length), 1);
        assert.ok(scenario);
        const done = await runRound(scenario, seed + round);
        t.diagnostic(
          `${scenario.name}: ${done.result} ${done.result === 'skipped' ? done.text : ''}`,
        );
        assert.notEqual(done.result, 'finding', `${done.text}\n${repeatLine(done)}`);
      }
    });
  }

  void it('has scenarios of every area, each with a name of its own', () => {
    const counts = new Map<Area, number>(areas.map((area) => [area, 0]));
    for (const { area } of allScenarios) counts.set(area, (counts.get(area) ?? 0) + 1);
    assert.ok([...counts.values()].every((count) => count >= 5));
    const names = new Set(allScenarios.map(({ area, name }) => `${area}/${name}`));
    assert.equal(names.size, allScenarios.length);
  });
});
