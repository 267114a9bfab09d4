import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fatalAfterStart } from './process-guard.js';
import { deferred } from '../../base/async/deferred.js';

const trouble = new Error('the disk failed');
const never = () => new Promise<never>(() => undefined);

describe('a store that fails while the server starts', () => {
  it('lets the start report the failure when it fails because of it', async () => {
    const ends: Error[] = [];
    const starting = async (): Promise<never> => {
      await turn();
      throw trouble;
    };
    const patience = async (): Promise<void> => {
      await turn();
      await turn();
    };
    fatalAfterStart((error) => ends.push(error), starting, patience)(trouble);
    for (let turns = 0; turns < 5; turns += 1) await turn();
    assert.deepEqual(ends, []);
  });

  it('ends the process once the start is done', async () => {
    const ends: Error[] = [];
    const { promise: starting, resolve: done } = deferred();
    fatalAfterStart(
      (error) => ends.push(error),
      () => starting,
      never,
    )(trouble);
    await turn();
    assert.deepEqual(ends, []);
    done();
    await turn();
    assert.deepEqual(ends, [trouble]);
  });

  it('ends the process where the start does not end', async () => {
    const ends: Error[] = [];
    fatalAfterStart((error) => ends.push(error), never, turn)(trouble);
    await turn();
    await turn();
    assert.deepEqual(ends, [trouble]);
  });
});
