import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { storeKey } from '../kv/partition-prefix.js';
import { encodeTuple } from '../kv/tuple.js';
import { storeKeys } from './keys.js';
import { dataOf, RangeMap, sharedPart } from './range-map.js';
import type { RangeRow } from './rows.js';

const none = Buffer.alloc(0);

function range(id: number, start: string, end: string | undefined): RangeRow {
  const bounds = {
    start: Buffer.from(start),
    end: end === undefined ? undefined : Buffer.from(end),
  };
  return { id, ...bounds, store: 's', epoch: 1, operation: 0 };
}

void describe('the map of ranges', () => {
  void it('takes only ranges that cover every key once', () => {
    const sound = [range(3, 'm', undefined), range(1, '', 'c'), range(2, 'c', 'm')];
    assert.deepEqual(
      RangeMap.of(sound)?.ranges.map(({ id }) => id),
      [1, 2, 3],
    );
    const broken = [
      [],
      [range(1, '', 'c')],
      [range(1, 'a', undefined)],
      [range(1, '', 'c'), range(2, 'd', undefined)],
      [range(1, '', 'd'), range(2, 'c', undefined)],
      [range(1, '', undefined), range(2, 'c', undefined)],
      [range(1, '', ''), range(2, '', undefined)],
    ];
    for (const rows of broken) assert.equal(RangeMap.of(rows), undefined);
  });

  void it('gives a range no keys of the store, wherever its bounds are', () => {
    const [start, none] = [encodeTuple(['table']), undefined];
    const behind = encodeTuple(['~~']);
    for (const end of [none, storeKeys.start, storeKey('partition', 'map'), behind]) {
      assert.deepEqual(dataOf({ start, end }), { start, end: storeKeys.start });
    }
    const empty = { start: storeKeys.start, end: storeKeys.start };
    assert.deepEqual(dataOf({ start: behind, end: none }), empty);
    const end = encodeTuple(['table', 'account']);
    assert.deepEqual(dataOf({ start, end }), { start, end });
  });

  void it('finds the range of a key, and the one that ends a read in reverse', () => {
    const map = RangeMap.of([range(1, '', 'c'), range(2, 'c', 'm'), range(3, 'm', undefined)]);
    const at = (key: string) => map?.at(Buffer.from(key)).id;
    assert.deepEqual(['', 'a', 'c', 'cc', 'l', 'm', 'z'].map(at), [1, 1, 2, 2, 2, 3, 3]);
    const before = (end: string) => map?.before(Buffer.from(end)).id;
    assert.deepEqual(['', 'c', 'c\0', 'm', 'z'].map(before), [1, 1, 2, 2, 3]);
  });

  void it('finds the ranges of an interval', () => {
    const map = RangeMap.of([range(1, '', 'c'), range(2, 'c', 'm'), range(3, 'm', undefined)]);
    const within = (start: string, end?: string) => {
      const interval = { start: Buffer.from(start), ...(end && { end: Buffer.from(end) }) };
      return map?.within(interval).map(({ id }) => id);
    };
    assert.deepEqual(within(''), [1, 2, 3]);
    assert.deepEqual(within('c', 'm'), [2]);
    assert.deepEqual(within('b', 'c\0'), [1, 2]);
    assert.deepEqual(within('x'), [3]);
  });

  void it('takes ranges for those they cover, and none that leave a gap', () => {
    const map = RangeMap.of([range(1, '', 'c'), range(2, 'c', 'm'), range(3, 'm', undefined)]);
    const idsWith = (...rows: RangeRow[]) => map?.withInstead(rows)?.ranges.map(({ id }) => id);
    assert.deepEqual(idsWith(range(5, 'e', 'm'), range(4, 'c', 'e')), [1, 4, 5, 3]);
    assert.deepEqual(idsWith(range(6, 'c', undefined)), [1, 6]);
    assert.deepEqual(idsWith(range(7, '', undefined)), [7]);
    assert.equal(idsWith(range(8, 'd', 'm')), undefined);
    assert.equal(idsWith(range(8, 'c', 'z')), undefined);
    assert.equal(idsWith(), undefined);
  });

  void it('shares what two intervals have in common', () => {
    const [a, c, m] = ['a', 'c', 'm'].map((text) => Buffer.from(text));
    assert.ok(a && c && m);
    assert.deepEqual(sharedPart({ start: none, end: c }, { start: a }), { start: a, end: c });
    assert.deepEqual(sharedPart({ start: a }, { start: c }), { start: c });
    assert.equal(sharedPart({ start: none, end: c }, { start: c, end: m }), undefined);
    assert.equal(sharedPart({ start: m, end: a }, { start: none }), undefined);
  });
});
