import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { startEcho } from '../../../test/support/echo-server.js';
import { sendBytes, signedRequest } from '../../../test/support/raw-http.js';
import { developmentAccount } from '../../services/accounts/directory.js';
import { ReadWriteLock } from './read-write-lock.js';
import { deferred } from './deferred.js';

/** A promise that the test resolves. */
function held(): { readonly done: Promise<void>; readonly let: () => void } {
  const { promise: done, resolve: settle } = deferred();
  return { done, let: settle };
}

describe('the lock before the work of requests', () => {
  it('lets work that has begun end before somebody works alone, and others wait meanwhile', async () => {
    const lock = new ReadWriteLock();
    const events: string[] = [];
    const first = held();
    const alone = held();
    const begun = lock.read(async () => {
      await first.done;
      events.push('begun');
    });
    const set = lock.write(async () => {
      events.push('alone begins');
      await alone.done;
      events.push('alone ends');
    });
    const later = lock.read(async () => void events.push('later'));
    await setImmediate();
    assert.deepEqual(events, []);
    assert.equal(lock.isWriting, true);
    first.let();
    await setImmediate();
    assert.deepEqual(events, ['begun', 'alone begins']);
    alone.let();
    await Promise.all([begun, set, later]);
    assert.deepEqual(events, ['begun', 'alone begins', 'alone ends', 'later']);
    assert.equal(lock.isWriting, false);
  });

  it('lets those who work alone take turns, whatever becomes of one', async () => {
    const lock = new ReadWriteLock();
    let working = 0;
    const alone = (fails: boolean) =>
      lock.write(async () => {
        working += 1;
        assert.equal(working, 1);
        await setImmediate();
        working -= 1;
        if (fails) throw new Error('failed');
      });
    const results = await Promise.allSettled([alone(false), alone(true), alone(false)]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal(await lock.read(async () => 'open'), 'open');
  });

  it('is left also by work that fails', async () => {
    const lock = new ReadWriteLock();
    await assert.rejects(lock.read(() => Promise.reject(new Error('failed'))));
    assert.equal(await lock.write(async () => 'empty'), 'empty');
  });

  it('keeps requests from their work while somebody works alone, and waits for theirs', async () => {
    const lock = new ReadWriteLock();
    const works = [held(), held()];
    let begun = 0;
    const run = async () => {
      await works[begun++]?.done;
      return 'fine';
    };
    await using echo = await startEcho(run, { lock });
    const until = async (holds: () => boolean) => {
      while (!holds()) await setImmediate();
    };
    const bytes = signedRequest({ target: `/${developmentAccount.name}/t()` });
    const first = sendBytes(echo.port, bytes);
    await until(() => begun === 1);
    const alone = held();
    const events: string[] = [];
    const set = lock.write(async () => {
      events.push(`alone after ${begun}`);
      await alone.done;
    });
    const second = sendBytes(echo.port, bytes);
    await until(() => echo.server.inFlight === 2);
    assert.deepEqual(events, []);
    works[0]?.let();
    assert.equal((await first).text, 'fine');
    await until(() => events.length === 1);
    assert.equal(begun, 1);
    alone.let();
    works[1]?.let();
    await set;
    assert.equal((await second).text, 'fine');
    assert.deepEqual(events, ['alone after 1']);
  });
});
