import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { changeList, decodeList, encodeList, keyOfText, listUnits, textOfKey } from './key-list.js';
import { stringUnitsMax } from '../../rows/row-size.js';
import { compareTexts } from '../../rows/text-order.js';

const text = fc.string({ unit: 'binary', maxLength: 40 });

describe('the list of an index entity', () => {
  it('is read back as it was written, in properties that each fit', () => {
    fc.assert(
      fc.property(fc.array(text), fc.nat(4000), (texts, more) => {
        const long = Array.from({ length: more }, (_, index) => `empid_${index}"`);
        const list = [...texts, ...long];
        const properties = encodeList('Keys', list);
        assert.deepEqual(decodeList('Keys', properties), list);
        let units = 0;
        for (const wire of Object.values(properties)) {
          assert.ok(wire.type === 'String' && wire.value.length <= stringUnitsMax);
          units += wire.value.length;
        }
        assert.ok(Math.abs(units - listUnits(list)) <= 2 * Object.keys(properties).length);
      }),
      { numRuns: 50 },
    );
  });

  it('has each text once, in ordinal order, whatever changes come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ add: fc.array(text), remove: fc.array(text) })),
        (changes) => {
          let list: readonly string[] = [];
          const model = new Set<string>();
          for (const change of changes) {
            list = changeList(list, change);
            for (const each of change.remove) model.delete(each);
            for (const each of change.add) model.add(each);
          }
          assert.deepEqual(list, [...model].sort(compareTexts));
        },
      ),
    );
  });

  it('stays the same object when nothing changes', () => {
    const list = ['a', 'b'];
    assert.equal(changeList(list, { add: ['a'], remove: ['c'] }), list);
    assert.equal(changeList(list, { add: ['a'], remove: ['a'] }) === list, false);
  });

  it('names entities of any partition', () => {
    const key = { partitionKey: '', rowKey: 'x' };
    assert.equal(textOfKey(key), '/x');
    assert.deepEqual(keyOfText('/x'), key);
    assert.deepEqual(keyOfText('Sales/'), { partitionKey: 'Sales', rowKey: '' });
    assert.throws(() => keyOfText('x'), /no PartitionKey/);
  });

  it('refuses what is no list', () => {
    for (const value of ['', '{}', '[1]', 'null']) {
      assert.throws(() => decodeList('Keys', { Keys: { type: 'String', value } }), /'Keys' of an/);
    }
  });
});
