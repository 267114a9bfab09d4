import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Bytes } from '../../base/bytes.js';
import { appendString, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import { containerPrefix } from '../containers/keys.js';
import { tableKind } from './table-record.js';

const page = new URL('../../../../docs/internals/table-keys.md', import.meta.url);
const people = { id: 7, name: 'People' };
const tablePrefix = containerPrefix(tableKind.service, 'acct', people.id);

const written: Readonly<Record<string, Bytes>> = {
  entity: appendString(appendString(tablePrefix, 'London'), '10'),
  'table record': tableKind.encode(people),
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
    assert.deepEqual(tableKind.decode(tableKind.encode(people)), people);
  });

  it('of another format is refused', () => {
    assert.throws(() => tableKind.decode(encodeTuple([2, 7, 'People'])), /format 2/);
  });
});
