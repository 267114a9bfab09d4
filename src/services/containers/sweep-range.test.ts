import assert from 'node:assert/strict';
import { it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { CommitResult, Entry } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { sweepRange } from './sweep-range.js';

it('leaves what was written since it was read, so that all it refers to is released', async () => {
  const clock = manualClock();
  const store = await openMemoryStore({ clock });
  const prefix = partitionPrefix('blobs', 'account', 1, 'blob');
  const key = Buffer.concat([prefix, Buffer.from('record')]);
  const write = (value: string): Promise<CommitResult> =>
    store.commit({ checks: [], puts: [{ key, value: Buffer.from(value) }], deletes: [] });
  await write('first');
  const asked: string[] = [];
  let afterwards = 0;
  let late: Promise<CommitResult> | undefined;
  const release = (entries: readonly Entry[]) => {
    asked.push(...entries.map(({ value }) => Buffer.from(value).toString()));
    // A request that began before its container was dropped.
    late ??= write('second');
    return { puts: [], afterwards: () => Promise.resolve(void (afterwards += 1)) };
  };
  const sweep = () => sweepRange({ store, clock, release }, prefixRange(prefix), 10);
  assert.deepEqual(await sweep(), { deleted: 0, more: true });
  await late;
  assert.equal(afterwards, 0);
  assert.deepEqual(await sweep(), { deleted: 1, more: false });
  assert.deepEqual([asked, afterwards], [['first', 'second'], 1]);
  assert.equal(await store.get(key), undefined);
});
