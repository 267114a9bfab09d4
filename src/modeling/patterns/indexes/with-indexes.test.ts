import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity } from '../../definition/entity-definition.js';
import { key, keyTemplate, type KeyTemplate } from '../../definition/key-template.js';
import { int32, string } from '../../definition/scalar-types.js';
import { DefinitionError } from '../../rows/model-error.js';
import { indexEntity } from './index-entity.js';
import { indexTable } from './index-tables.js';
import { otherPartition } from './inter-partition-index.js';
import { samePartition } from './intra-partition-index.js';
import { withIndexes } from './with-indexes.js';
import { asEmployee, numbered } from '../../../../test/modeling/support/employees.js';

const properties = {
  ...numbered,
  email: string().named('E-Mail'),
  town: string().optional(),
  secret: string().encrypted(),
  level: int32().default(1),
  search: string().computed({ email: string() }, ({ email }) => email.toLowerCase()),
};

const MailedEmployee = defineEntity({
  ...asEmployee,
  properties,
});

const Untyped = defineEntity({ ...asEmployee, properties, system: { type: false } });

describe('withIndexes', () => {
  it('defines the rows of an index by what it includes and both keys', () => {
    const { rows } = withIndexes(MailedEmployee, {
      email: samePartition({ rowKey: (p) => key`email_${p.email}`, include: ['level'] }),
      search: otherPartition({
        partitionKey: (p) => key`search_${p.search}`,
        rowKey: (p) => key`${p.id.padded(6)}`,
        include: [],
      }),
    });
    assert.equal(rows.email.type, 'Employee.email');
    assert.deepEqual(Object.keys(rows.email.properties).sort(), [
      'department',
      'email',
      'id',
      'level',
    ]);
    assert.deepEqual(Object.keys(rows.search.properties).sort(), ['department', 'id', 'search']);
    assert.equal(rows.email.system.writeStamp, undefined);
  });

  it('refuses keys that types cannot refuse in plain JavaScript', () => {
    const untyped = (rowKey: (p: never) => unknown) =>
      withIndexes(MailedEmployee, { broken: samePartition({ rowKey: rowKey as never }) });
    assert.throws(
      () => untyped((p: { town: never }) => key`town_${p.town}`),
      /town cannot be .* may be absent/,
    );
    assert.throws(
      () => untyped((p: { secret: never }) => key`s_${p.secret}`),
      /secret cannot be .* is encrypted/,
    );
    assert.throws(
      () =>
        withIndexes(MailedEmployee, {
          email: samePartition({
            rowKey: (p) => key`email_${p.email}`,
            include: ['nope'] as never,
          }),
        }),
      /includes 'nope'/,
    );
  });

  it('refuses indexes whose rows nothing tells apart', () => {
    assert.throws(
      () =>
        withIndexes(Untyped, {
          email: samePartition({ rowKey: (p) => key`${p.email}` }),
        }),
      DefinitionError,
    );
    assert.throws(
      () =>
        withIndexes(Untyped, {
          email: samePartition({ rowKey: (p) => key`e_${p.email}` }),
          search: indexEntity({ place: 'same-partition', rowKey: (p) => key`e_${p.search}` }),
        }),
      /Employee.search from those of Employee.email/,
    );
    withIndexes(Untyped, {
      email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
      search: otherPartition({
        partitionKey: (p) => key`search_${p.search}`,
        rowKey: (p) => key`x_${p.id.padded(6)}`,
      }),
      table: indexTable({ partitionKey: (p) => key`${p.email}`, rowKey: (p) => key`${p.search}` }),
    });
  });

  it('refuses more indexes than a transaction has room for, and lists of no size', () => {
    const many = Object.fromEntries(
      Array.from({ length: 17 }, (_, index) => [
        `index${index}`,
        samePartition<typeof MailedEmployee, KeyTemplate>({
          rowKey: ({ email }) => keyTemplate([`i${index}_`, ''], [email]),
        }),
      ]),
    );
    assert.throws(() => withIndexes(MailedEmployee, many), /no room for more than 16/);
    assert.throws(
      () => indexEntity({ place: 'same-partition', rowKey: () => key`x`, listUnitsMax: 10 }),
      /128 to 450,000/,
    );
  });
});
