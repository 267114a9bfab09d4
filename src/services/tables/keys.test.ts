import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Bytes } from '../../base/bytes.js';
import { appendString, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import {
  accountOfKey,
  decodeTableRecord,
  droppedTableKey,
  encodeTableRecord,
  tableIdKey,
  tableNameKey,
  tablePrefix,
} from './keys.js';

const page = new URL('../../../../docs/internals/table-keys.md', import.meta.url);
const people = { id: 7, name: 'People' };

const written: Readonly<Record<string, Bytes>> = {
  'next table id': tableIdKey('acct'),
  'directory entry': tableNameKey('acct', 'people'),
  'dropped table': droppedTableKey('acct', 7),
  entity: appendString(appendString(tablePrefix('acct', 7), 'London'), '10'),
  'table record': encodeTableRecord(people),
};

const hex = (bytes: Bytes) => Buffer.from(bytes).toString('hex');

describe('the page on the keys of the table service', () => {
  it('shows the bytes that are really written', () => {
    const row = /^\| ([a-z ]+?) +\| `(\[.*\])` +\| `([0-9a-f ]+)` +\|$/gm;
    const shown = [...readFileSync(page, 'utf8').matchAll(row)];
    assert.deepEqual(
      shown.map(([, what]) => what),
      Object.keys(written),
    );
    for (const [, what = '', tuple = '', bytes = ''] of shown) {
      const expected = bytes.replaceAll(' ', '');
      assert.equal(hex(written[what] ?? Buffer.alloc(0)), expected, what);
      assert.equal(hex(encodeTuple(JSON.parse(tuple) as TupleElement[])), expected, what);
    }
  });
});

describe('a table record', () => {
  it('comes back as it was written', () => {
    assert.deepEqual(decodeTableRecord(encodeTableRecord(people)), people);
  });

  it('of another format is refused', () => {
    assert.throws(() => decodeTableRecord(encodeTuple([2, 7, 'People'])), /format 2/);
  });
});

describe('a key of the table service', () => {
  it('names its account', () => {
    assert.equal(accountOfKey(tableNameKey('acct', 'people')), 'acct');
    assert.equal(accountOfKey(written['entity'] ?? Buffer.alloc(0)), 'acct');
  });
});
