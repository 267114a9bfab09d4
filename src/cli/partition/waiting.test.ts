import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStarted } from '../../http/control/job-results.js';
import type { JobInfo } from '../../http/control/partitions.js';
import { AwayFailure, CommandFailure } from '../terminal/failure.js';
import { jobResult } from './waiting.js';

function ended(result: unknown) {
  const end: JobInfo = { job: 7, state: 'done', done: 0, unit: 'keys', result };
  return { job: () => Promise.resolve(end) };
}

void describe('the result of a job', () => {
  void it('is given when it has the form that is expected', async () => {
    const result = await jobResult(ended({ operation: 4 }), 7, isStarted);
    assert.equal(result.operation, 4);
  });

  void it('is waited for while the server cannot tell how far it is', async () => {
    const { job } = ended({ operation: 4 });
    let looks = 0;
    const away = () => {
      looks += 1;
      return looks > 2 ? job() : Promise.reject(new AwayFailure('The store did not answer.'));
    };
    assert.equal((await jobResult({ job: away }, 7, isStarted)).operation, 4);
    assert.equal(looks, 3);
  });

  void it('of another form fails the command, which says why', async () => {
    for (const wrong of [undefined, 4, { operation: '4' }, { range: 4 }]) {
      await assert.rejects(jobResult(ended(wrong), 7, isStarted), (error: Error) => {
        assert.ok(error instanceof CommandFailure, String(error));
        assert.match(error.message, /^Job 7 is done, .* the server is of another release/);
        return true;
      });
    }
  });
});
