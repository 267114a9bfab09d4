import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deferred } from '../../base/async/deferred.js';
import { Jobs } from './jobs.js';

it('jobs are remembered while they run, however many others end, and the last hundred of these', async () => {
  const jobs = new Jobs();
  const long = deferred<string>();
  const { job } = jobs.start('keys', () => long.promise);
  for (let count = 0; count < 150; count += 1) {
    jobs.start('keys', () => Promise.resolve(count));
    await Promise.resolve();
  }
  assert.equal(jobs.find(job)?.state, 'running');
  assert.equal(jobs.find(job + 1), undefined);
  assert.equal(jobs.find(job + 150)?.job, job + 150);
  long.resolve('result');
  await long.promise;
  await Promise.resolve();
  assert.equal(jobs.find(job)?.state, 'done');
});
