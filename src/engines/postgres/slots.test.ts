import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partitionPrefix, storeKey } from '../../kv/partition-prefix.js';
import type { Bytes } from '../../base/bytes.js';
import { addSlots } from './slots.js';

const prefix = partitionPrefix('table', 'devstoreaccount1', 1, 'p');

function slotsOf(...keys: readonly Bytes[]): readonly number[] {
  const found = new Set<number>();
  addSlots({ checks: [], puts: [], deletes: keys }, found);
  return [...found];
}

describe('the slots of a commit', () => {
  it('are the same in every release: other servers use the same database', () => {
    assert.deepEqual(slotsOf(prefix), [359]);
    assert.deepEqual(slotsOf(partitionPrefix('queue', 'devstoreaccount1', 7, '')), [190]);
    assert.deepEqual(slotsOf(storeKey('guard', 1)), [310]);
  });

  it('are one for each partition prefix, and one for each key of the store', () => {
    const keys = ['', 'a', 'b'].map((row) => Buffer.concat([prefix, Buffer.from(row)]));
    assert.deepEqual(slotsOf(...keys), [359]);
    assert.deepEqual(slotsOf(...keys, storeKey('guard', 1), storeKey('guard', 2)), [359, 310, 931]);
  });

  it('come of all that a commit touches', () => {
    const found = new Set<number>();
    addSlots(
      {
        checks: [{ key: prefix, version: 'absent' }],
        puts: [{ key: storeKey('guard', 1), value: prefix }],
        deletes: [],
        adds: [{ key: storeKey('guard', 2), delta: 1 }],
      },
      found,
    );
    assert.deepEqual([...found], [359, 310, 931]);
  });
});
