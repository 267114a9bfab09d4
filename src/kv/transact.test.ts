import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { TransactionConflictError } from './errors.js';
import { transact } from './transact.js';

const key = Buffer.from('key');
const other = Buffer.from('other');
const open = () => openMemoryStore({ clock: manualClock() });
const numberIn = (value: Uint8Array | undefined) => Number(String(value ?? '0'));

describe('transact', () => {
  it('commits what the body wrote, under one version, and returns its result', async () => {
    const store = await open();
    const { result, version } = await transact(store, async (transaction) => {
      assert.equal(await transaction.get(key), undefined);
      transaction.put(key, Buffer.from('1'));
      transaction.put(other, Buffer.from('2'));
      return 'result';
    });
    assert.equal(result, 'result');
    assert.equal((await store.get(key))?.version, version);
    assert.equal((await store.get(other))?.version, version);
  });

  it('shows a transaction its own writes', async () => {
    const store = await open();
    await transact(store, async (transaction) => {
      transaction.put(key, Buffer.from('mine'));
      assert.equal(String((await transaction.get(key))?.value), 'mine');
      transaction.delete(key);
      assert.equal(await transaction.get(key), undefined);
      transaction.put(other, Buffer.from('kept'));
    });
    assert.equal(await store.get(key), undefined);
    assert.equal(String((await store.get(other))?.value), 'kept');
  });

  it('runs again when something it read has changed, so no update is lost', async () => {
    const store = await open();
    let runs = 0;
    const increment = () =>
      transact(store, async (transaction) => {
        runs += 1;
        const entry = await transaction.get(key);
        await new Promise((done) => setImmediate(done));
        transaction.put(key, Buffer.from(String(numberIn(entry?.value) + 1)));
      });
    await Promise.all(Array.from({ length: 10 }, increment));
    assert.equal(numberIn((await store.get(key))?.value), 10);
    assert.ok(runs > 10);
  });

  it('notices that a key it found absent was created, and that a row of a page changed', async () => {
    const store = await open();
    const put = (at: Buffer) =>
      store.commit({ checks: [], puts: [{ key: at, value: Buffer.from('x') }], deletes: [] });
    const conflicting = (read: 'get' | 'range') =>
      transact(
        store,
        async (transaction) => {
          if (read === 'get') await transaction.get(key);
          else await transaction.range({ start: key }, { limit: 10, bytesMax: 100 });
          await put(key);
          transaction.put(other, Buffer.from('y'));
        },
        { attemptsMax: 1 },
      );
    await assert.rejects(conflicting('get'), TransactionConflictError);
    await assert.rejects(conflicting('range'), TransactionConflictError);
    assert.equal(await store.get(other), undefined);
  });

  it('gives up after the attempts it was allowed', async () => {
    const store = await open();
    let runs = 0;
    const losing = transact(
      store,
      async (transaction) => {
        runs += 1;
        await transaction.get(key);
        const value = Buffer.from(String(runs));
        await store.commit({ checks: [], puts: [{ key, value }], deletes: [] });
        transaction.put(key, value);
      },
      { attemptsMax: 3 },
    );
    await assert.rejects(losing, { name: 'TransactionConflictError', attempts: 3 });
    assert.equal(runs, 3);
  });

  it('commits nothing when the body throws or writes nothing', async () => {
    const store = await open();
    const failing = transact(store, async (transaction) => {
      transaction.put(key, Buffer.from('x'));
      throw new RangeError('from the body');
    });
    await assert.rejects(failing, RangeError);
    const reading = await transact(store, (transaction) => transaction.get(key));
    assert.deepEqual(reading, { result: undefined, version: undefined });
  });
});
