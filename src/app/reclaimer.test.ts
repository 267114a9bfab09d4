import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualTimers } from '../../test/support/manual-timers.js';
import { manualClock } from '../base/clock.js';
import { silentLogger, type Logger } from '../http/exchange/logger.js';
import { Reclaimer, type ReclaimStep } from './reclaimer.js';

type Run = ReclaimStep['run'];

const entriesMax = 10;
const idleMs = 5_000;

function harness(runs: readonly Run[], isBusy: () => boolean = () => false) {
  const logged: unknown[] = [];
  const timers = manualTimers();
  const clock = manualClock();
  const told = (_: string, fields?: Readonly<Record<string, unknown>>) =>
    void logged.push(fields?.['step']);
  const logger: Logger = { ...silentLogger, error: told, warn: told };
  const steps = runs.map((run, at): ReclaimStep => ({ name: `step ${at + 1}`, run, entriesMax }));
  const advance = (ms: number) => clock.advanceMicros(1000 * ms);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const reclaimer = new Reclaimer({ steps, timers, clock, logger, isBusy });
  /** Advances the clock to the time of the one timer, and fires it. */
  const fire = async (): Promise<number> => {
    const delayMs = timers.delays.at(-1) ?? 0;
    advance(delayMs);
    timers.fire();
    await settled();
    return delayMs;
  };
  /** The number of steps that begin within this many milliseconds. */
  const passing = async (ms: number): Promise<number> => {
    let begun = 0;
    for (let passed = 0; passed <= ms; begun += 1) passed += await fire();
    return begun - 1;
  };
  return { reclaimer, advance, logged, fire, passing, settled, timers };
}

/** A step that takes `tookMs` and always leaves more to delete. */
function endless(advance: () => (ms: number) => void, tookMs: number): Run {
  return async () => {
    advance()(tookMs);
    return { deleted: entriesMax, more: true };
  };
}

describe('the reclaimer', () => {
  it('takes a small share of a busy server, however fast its steps are', async () => {
    for (const tookMs of [0, 1, 3]) {
      const world: ReturnType<typeof harness> = harness(
        [endless(() => world.advance, tookMs)],
        () => true,
      );
      const steps = await world.passing(3_000);
      // One step in 30 ms; the time that steps take themselves does not pass in `passing`.
      assert.ok(steps >= 95 && steps <= 115, `${steps} steps of ${tookMs} ms`);
    }
  });

  it('begins a step soon after a slow one, but not at once', async () => {
    const world: ReturnType<typeof harness> = harness(
      [endless(() => world.advance, 200)],
      () => true,
    );
    await world.fire();
    const restMs = world.timers.delays.at(-1) ?? 0;
    assert.ok(restMs > 0 && restMs < 10, `${restMs} ms`);
  });

  it('rests as long as it works while nobody asks for anything', async () => {
    const world: ReturnType<typeof harness> = harness([endless(() => world.advance, 12)]);
    await world.fire();
    assert.equal(world.timers.delays.at(-1), 12);
  });

  it('gives steps that have more to delete the same time', async () => {
    const begun: number[] = [];
    const step = (at: number): Run => {
      return async () => {
        begun.push(at);
        return { deleted: 1, more: true };
      };
    };
    const { fire } = harness([step(0), step(1)], () => true);
    for (let count = 0; count < 6; count += 1) await fire();
    assert.deepEqual(begun, [0, 1, 0, 1, 0, 1]);
  });

  it('looks again later when nothing is left, and at once when it is woken', async () => {
    let steps = 0;
    const { fire, reclaimer, timers } = harness([
      async () => {
        steps += 1;
        return { deleted: 0, more: false };
      },
    ]);
    await fire();
    assert.equal(timers.delays.at(-1), idleMs);
    reclaimer.wake();
    assert.ok((timers.delays.at(-1) ?? idleMs) < 50);
    await fire();
    assert.equal(steps, 2);
    assert.equal(timers.delays.at(-1), idleMs);
    assert.equal(timers.waiting, 1);
  });

  it('does not miss what is dropped during the step that finds nothing', async () => {
    let wake: () => void = () => undefined;
    const { fire, reclaimer, timers } = harness([
      async () => {
        wake();
        return { deleted: 0, more: false };
      },
    ]);
    wake = () => reclaimer.wake();
    await fire();
    assert.ok((timers.delays.at(-1) ?? idleMs) < 50);
  });

  it('takes its time while it finds nothing', async () => {
    const { fire, timers } = harness([() => Promise.resolve({ deleted: 0, more: true })]);
    await fire();
    const next = timers.delays.at(-1) ?? 0;
    assert.ok(next >= 50 && next < idleMs, `${next} ms`);
  });

  it('goes on with others after a failed step, tries it again later, and logs which', async () => {
    let others = 0;
    const other = () => {
      others += 1;
      return Promise.resolve({ deleted: 0, more: false });
    };
    const failing = () => Promise.reject(new Error('disk'));
    const { fire, logged, passing } = harness([failing, other]);
    await fire();
    await fire();
    assert.deepEqual(logged, ['step 1']);
    assert.equal(others, 1);
    await passing(2 * 60_000);
    assert.ok(logged.length >= 2 && logged.length <= 3, `${logged.length} failures`);
    assert.ok(others > 20);
  });

  it('waits for a running step when it stops, and then rests', async () => {
    let finish: () => void = () => undefined;
    const { reclaimer, fire, settled, timers } = harness([
      () =>
        new Promise((resolve) => {
          finish = () => resolve({ deleted: 1, more: true });
        }),
    ]);
    await fire();
    let stopped = false;
    const stopping = reclaimer.stop(5_000).then(() => (stopped = true));
    await settled();
    assert.equal(stopped, false);
    finish();
    await stopping;
    assert.equal(timers.waiting, 0);
    reclaimer.wake();
    assert.equal(timers.waiting, 0);
  });

  it('waits no longer than a stop may for a step that does not end, and logs which', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { reclaimer, fire, settled, timers, logged } = harness([
      () => new Promise((_, reject) => (fail = reject)),
    ]);
    await fire();
    const stopping = reclaimer.stop(5_000);
    for (let step = 0; step < 4; step += 1) timers.fire(1_250);
    await stopping;
    assert.deepEqual(logged, ['step 1']);
    fail(new Error('the store is closed'));
    await settled();
    assert.equal(timers.waiting, 0);
  });
});
