import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { defaultJournalLimits } from '../../src/engines/journal/journal-limits.js';
import { settleJournal } from '../../src/engines/journal/settle.js';
import { openJournaledStore, type JournaledStoreOptions } from '../../src/engines/journal/store.js';
import { manualTimers } from '../support/manual-timers.js';
import { SimRandom } from '../support/sim-random.js';
import { ModelBase } from './model-base.js';
import { ModelData } from './model-data.js';
import { ModelDisk, noDrops, noFaults } from './model-disk.js';
import { Schedule } from './schedule.js';
import { keyOf, stateOf } from './work.js';

const stepsMax = 500;
const names = ['p0/a', 'p1/b', 'p2/c'];

/** An action of a process; resolves when it is complete. */
type Deed = (options: JournaledStoreOptions) => Promise<unknown>;

async function write(options: JournaledStoreOptions, name: string) {
  const store = await openJournaledStore(options);
  const puts = [{ key: keyOf(name), value: Buffer.from(name) }];
  assert.ok((await store.commit({ checks: [], puts, deletes: [] })).ok);
  return store;
}

async function machine(seed: number) {
  const random = new SimRandom(seed);
  const clock = manualClock();
  const disk = new ModelDisk();
  const data = await ModelData.empty(clock);
  /** Runs an action for this many steps; true when it completed before. */
  const run = async (deed: Deed, steps: number): Promise<boolean> => {
    const schedule = new Schedule(random);
    const process = { schedule, random, faults: noFaults, drops: noDrops };
    const state = { isDone: false };
    const done = deed({
      base: new ModelBase(data, process),
      files: disk.filesFor(process),
      clock,
      timers: manualTimers(),
      randomness: systemRandomness,
      limits: { ...defaultJournalLimits, fileBytes: 32_768 },
    }).then(() => (state.isDone = true));
    for (let step = 0; step < steps && !state.isDone; step += 1) await schedule.advance();
    schedule.end();
    disk.losePower(random);
    await data.losePower(random);
    if (state.isDone) await done;
    return state.isDone;
  };
  return { run, data };
}

/**
 * Writes and ends a process several times, then kills an action after each number of steps, then
 * reads the state.
 */
async function dieAtEachStep(deed: Deed): Promise<number> {
  for (let steps = 0; steps < stepsMax; steps += 1) {
    const { run, data } = await machine(steps);
    for (const name of names) assert.ok(await run((options) => write(options, name), stepsMax));
    const isDone = await run(deed, steps);
    const look: Deed = async (options) => {
      const state = await stateOf(await openJournaledStore(options), false);
      assert.deepEqual(
        [...state.keys()].filter((name) => names.includes(name)),
        names,
      );
    };
    assert.ok(await run(look, stepsMax), `after ${steps} steps`);
    assert.ok(await run(settleJournal, stepsMax), `after ${steps} steps`);
    assert.deepEqual(
      [...(await stateOf(data.store, false)).keys()].filter((n) => names.includes(n)),
      names,
    );
    if (isDone) return steps;
  }
  throw new Error('the deed is never done');
}

describe('a loss of power after any step', () => {
  const deeds: readonly (readonly [string, Deed])[] = [
    ['of an opening', openJournaledStore],
    ['of an opening that settles the journal', settleJournal],
    [
      'of an opening, a write and a close',
      async (options) => (await write(options, 'p0/d')).close(),
    ],
  ];
  for (const [what, deed] of deeds) {
    it(`${what} loses nothing`, async () => {
      assert.ok((await dieAtEachStep(deed)) > 5);
    });
  }
});
