import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partitionPrefix, storeKey } from '../../kv/partition-prefix.js';
import type { Bytes } from '../../base/bytes.js';
import { slotsOf as slotsOfCommit } from './slots.js';

const prefix = partitionPrefix('table', 'devstoreaccount1', 1, 'p');

function slotsOf(...keys: readonly Bytes[]): readonly number[] {
  return slotsOfCommit({ checks: [], puts: [], deletes: keys });
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
    const found = slotsOfCommit({
      checks: [{ key: prefix, version: 'absent' }],
      puts: [{ key: storeKey('guard', 1), value: prefix }],
      deletes: [],
      adds: [{ key: storeKey('guard', 2), delta: 1 }],
    });
    assert.deepEqual(found, [359, 310, 931]);
  });

  it('are one where it touches nothing, because its version is acknowledged', () => {
    assert.deepEqual(slotsOf(), [0]);
  });

  it('come of every put, whichever checks stand before it', () => {
    const [first, second] = [storeKey('guard', 1), storeKey('guard', 2)];
    const puts = [prefix, first, second].map((key) => ({ key, value: prefix }));
    const checks = [{ key: prefix, version: 'absent' as const }];
    assert.deepEqual(slotsOfCommit({ checks, puts, deletes: [] }), [359, 310, 931]);
  });
});
