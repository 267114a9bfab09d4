// A workload may contain only what its definition and indexes allow. Only the compiler runs this
// file.
import { defineEntity, key, string } from '../../src/modeling/index.js';
import { explain, uniform, type Report } from '../../src/modeling/advisor/index.js';
import {
  indexEntity,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { asEmployee, numbered } from '../modeling/support/employees.js';

const SecretEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    secret: string().encrypted(),
  },
});

const indexed = withIndexes(SecretEmployee, {
  name: samePartition({ rowKey: (p) => key`${p.lastName}` }),
  list: indexEntity({ place: 'same-partition', rowKey: (p) => key`list_${p.lastName}` }),
});

const base = { rows: 1, partitions: uniform(1) };
const sales = { department: 'Sales' };

export const reports: readonly Report[] = [
  explain(SecretEmployee, { ...base, operations: [{ kind: 'insert', perSecond: 1 }] }),
  // The definition with indexes may be written inside the call.
  explain(
    withIndexes(SecretEmployee, { name: samePartition({ rowKey: (p) => key`${p.lastName}` }) }),
    {
      ...base,
      operations: [
        {
          kind: 'look-up',
          index: 'name',
          perSecond: 1,
          query: { partition: sales, startsWith: 'Jo' },
          thenRead: true,
        },
      ],
    },
  ),
  explain(indexed, { ...base, operations: [{ kind: 'look-up', index: 'list', perSecond: 1 }] }),

  // @ts-expect-error -- there is no such property
  explain(SecretEmployee, { ...base, properties: { colour: { size: 3 } }, operations: [] }),
  explain(SecretEmployee, {
    ...base,
    // @ts-expect-error -- nor here
    operations: [{ kind: 'merge', perSecond: 1, changes: ['colour'] }],
  }),
  explain(SecretEmployee, {
    ...base,
    // @ts-expect-error -- a query gives the whole PartitionKey
    operations: [{ kind: 'query', perSecond: 1, query: { partition: {} } }],
  }),
  explain(SecretEmployee, {
    ...base,
    operations: [
      {
        kind: 'query',
        perSecond: 1,
        // @ts-expect-error -- no filter on what is encrypted
        query: { partition: sales, where: (p) => p.secret.eq('x') },
      },
    ],
  }),
  explain(SecretEmployee, {
    ...base,
    // @ts-expect-error -- a definition without indexes has no look-ups
    operations: [{ kind: 'look-up', index: 'name', perSecond: 1 }],
  }),
  // @ts-expect-error -- there is no such index
  explain(indexed, { ...base, operations: [{ kind: 'look-up', index: 'age', perSecond: 1 }] }),
  // @ts-expect-error -- the index has no such part of its key
  explain(indexed, {
    ...base,
    operations: [
      {
        kind: 'look-up',
        index: 'name',
        perSecond: 1,
        query: { partition: sales, prefix: { id: 1 } },
      },
    ],
  }),
  // @ts-expect-error -- a rate is needed
  explain(SecretEmployee, { ...base, operations: [{ kind: 'insert' }] }),
];
