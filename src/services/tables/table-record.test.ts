import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertShowsTuples } from '../../../test/support/shown-bytes.js';
import type { Bytes } from '../../base/bytes.js';
import { appendString, encodeTuple } from '../../kv/tuple.js';
import { containerPrefix } from '../containers/keys.js';
import { tableKind } from './table-record.js';

const people = { id: 7, name: 'People', identifiers: [] };
const shared = {
  ...people,
  identifiers: [
    { id: 'read', expiry: '2030-01-01T00:00:00.0000000Z', permission: 'r' },
    { id: 'none' },
  ],
};
const tablePrefix = containerPrefix(tableKind.service, 'acct', people.id);

const written: Readonly<Record<string, Bytes>> = {
  entity: appendString(appendString(tablePrefix, 'London'), '10'),
  'table record': tableKind.encode(people),
  'table record with policies': tableKind.encode(shared),
};

describe('the page on the keys of the table service', () => {
  it('shows the bytes that are really written', () => {
    assertShowsTuples('table-keys.md', written);
  });
});

describe('a table record', () => {
  it('comes back as it was written', () => {
    assert.deepEqual(tableKind.decode(tableKind.encode(people), 1), people);
    assert.deepEqual(tableKind.decode(tableKind.encode(shared), 1), shared);
  });

  it('from before tables had policies has none', () => {
    assert.deepEqual(tableKind.decode(encodeTuple([1, 7, 'People']), 1), people);
  });

  it('with half a policy is refused', () => {
    const value = encodeTuple([1, 7, 'People', 'read', 0]);
    assert.throws(() => tableKind.decode(value, 1), /malformed/);
  });

  it('of another format is refused', () => {
    assert.throws(() => tableKind.decode(encodeTuple([2, 7, 'People']), 1), /format 2/);
  });
});
