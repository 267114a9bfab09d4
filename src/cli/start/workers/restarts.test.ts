import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adviceAfter, failedStartsMax, Restarts, type WorkerExit } from './restarts.js';

function delays(exits: readonly WorkerExit[]): (number | 'give-up')[] {
  const restarts = new Restarts();
  return exits.map((exit) => {
    const decision = restarts.after(exit);
    return decision.kind === 'restart' ? decision.delayMs : decision.kind;
  });
}

const failedStart: WorkerExit = { listenedMs: undefined };
const quick: WorkerExit = { listenedMs: 50 };
const late: WorkerExit = { listenedMs: 3_600_000 };

void describe('restarts of a worker', () => {
  void it('come at once when it had served for long', () => {
    assert.deepEqual(delays([late, late, late]), [0, 0, 0]);
  });

  void it('come later and later when it dies quickly, but never too late', () => {
    const waits = delays(Array.from({ length: 12 }, () => quick));
    assert.deepEqual(waits.slice(0, 5), [0, 100, 200, 400, 800]);
    assert.deepEqual(waits.slice(-2), [5000, 5000]);
    assert.deepEqual(delays([quick, quick, late, quick]), [0, 100, 0, 100]);
  });

  void it('end when it fails to start again and again', () => {
    const failures = Array.from({ length: failedStartsMax }, () => failedStart);
    assert.equal(delays(failures).at(-1), 'give-up');
    assert.ok(!delays(failures.slice(1)).includes('give-up'));
    assert.ok(!delays([...failures.slice(1), quick, ...failures.slice(1)]).includes('give-up'));
  });
});

void it('points at the data file when a worker crashed, and not when it was ended', () => {
  for (const exit of ['SIGSEGV', 'SIGBUS', 'SIGABRT']) {
    assert.match(adviceAfter(exit) ?? '', /tabularium check --location/);
  }
  for (const exit of ['SIGKILL', 'SIGTERM', 'exit code 1']) {
    assert.equal(adviceAfter(exit), undefined);
  }
});
