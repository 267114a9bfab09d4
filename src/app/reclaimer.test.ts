import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualTimers } from '../../test/support/manual-timers.js';
import { silentLogger, type Logger } from '../http/exchange/logger.js';
import { Reclaimer, type ReclaimStep } from './reclaimer.js';

type Run = ReclaimStep['run'];

const idleMs = 60_000;
const patienceMs = 1_000;

interface Harness {
  readonly reclaimer: Reclaimer;
  readonly delays: readonly number[];
  readonly logged: unknown[];
  /** Calls back the one timer that waits. */
  readonly fire: () => Promise<void>;
  readonly waiting: () => number;
}

function harness(runs: readonly Run[], inFlight: () => number = () => 0): Harness {
  const logged: unknown[] = [];
  const timers = manualTimers();
  const logger: Logger = { ...silentLogger, error: (_, fields) => logged.push(fields?.['step']) };
  const steps = runs.map((run, at): ReclaimStep => {
    return { name: `step ${at + 1}`, run, entriesMax: 10, idleMs, patienceMs };
  });
  return {
    reclaimer: new Reclaimer({ steps, timers, logger, inFlight }),
    delays: timers.delays,
    logged,
    async fire() {
      timers.fire();
      await new Promise((resolve) => setImmediate(resolve));
    },
    waiting: () => timers.waiting,
  };
}

describe('the reclaimer', () => {
  it('goes on soon while there is more and looks again later when there is not', async () => {
    const results = [true, true, false];
    const { delays, fire } = harness([
      () => Promise.resolve({ deleted: 1, more: results.shift() ?? false }),
    ]);
    for (let count = 0; count < 3; count++) await fire();
    const [start = 0, second, third, last = 0] = delays;
    assert.deepEqual([second, third, last], [start, start, idleMs]);
    assert.ok(start < 100);
  });

  it('takes its time while it finds nothing', async () => {
    const { delays, fire } = harness([() => Promise.resolve({ deleted: 0, more: true })]);
    await fire();
    const [start = 0, next = 0] = delays;
    assert.ok(next > start && next < idleMs, `${next} ms`);
  });

  it('lets requests go first, but not for ever', async () => {
    const steps: string[] = [];
    const step = () => {
      steps.push('step');
      return Promise.resolve({ deleted: 0, more: false });
    };
    const { fire, delays } = harness([step], () => 1);
    let waitedMs = 0;
    while (steps.length === 0) {
      waitedMs += delays.at(-1) ?? 0;
      await fire();
    }
    assert.ok(waitedMs >= patienceMs && waitedMs < 2 * patienceMs, `after ${waitedMs} ms`);
  });

  it('gives every kind of step its own time', async () => {
    const done = () => Promise.resolve({ deleted: 0, more: false });
    const more = () => Promise.resolve({ deleted: 1, more: true });
    const { delays, fire } = harness([more, done]);
    const [start = 0] = delays;
    await fire();
    const later = delays.slice(2).toSorted((left, right) => left - right);
    assert.deepEqual(later, [start, idleMs]);
  });

  it('goes on after a failed step and logs which it was', async () => {
    let others = 0;
    const other = () => {
      others++;
      return Promise.resolve({ deleted: 0, more: false });
    };
    const failing = () => Promise.reject(new Error('disk'));
    const { fire, logged, waiting } = harness([failing, other]);
    await fire();
    assert.deepEqual(logged, ['step 1']);
    assert.equal(others, 1);
    assert.equal(waiting(), 2);
  });

  it('waits for a running step when it stops, and then rests', async () => {
    let finish: () => void = () => undefined;
    const { reclaimer, fire, waiting } = harness([
      () =>
        new Promise((resolve) => {
          finish = () => resolve({ deleted: 1, more: true });
        }),
      () => Promise.resolve({ deleted: 0, more: true }),
    ]);
    await fire();
    let stopped = false;
    const stopping = reclaimer.stop().then(() => (stopped = true));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(stopped, false);
    finish();
    await stopping;
    assert.equal(waiting(), 0);
  });
});
