// A workload may contain only what its definition and indexes allow. Only the compiler runs this
// file.
import { defineEntity, int32, key, string } from '../../src/modeling/index.js';
import { explain, uniform, type Report } from '../../src/modeling/advisor/index.js';
import {
  indexEntity,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    lastName: string(),
    secret: string().encrypted(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const indexed = withIndexes(Employee, {
  name: samePartition({ rowKey: (p) => key`${p.lastName}` }),
  list: indexEntity({ place: 'same-partition', rowKey: (p) => key`list_${p.lastName}` }),
});

const base = { rows: 1, partitions: uniform(1) };
const sales = { department: 'Sales' };

export const reports: readonly Report[] = [
  explain(Employee, { ...base, operations: [{ kind: 'insert', perSecond: 1 }] }),
  // The definition with indexes may be written inside the call.
  explain(withIndexes(Employee, { name: samePartition({ rowKey: (p) => key`${p.lastName}` }) }), {
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
  }),
  explain(indexed, { ...base, operations: [{ kind: 'look-up', index: 'list', perSecond: 1 }] }),

  // @ts-expect-error -- there is no such property
  explain(Employee, { ...base, properties: { colour: { size: 3 } }, operations: [] }),
  explain(Employee, {
    ...base,
    // @ts-expect-error -- nor here
    operations: [{ kind: 'merge', perSecond: 1, changes: ['colour'] }],
  }),
  explain(Employee, {
    ...base,
    // @ts-expect-error -- a query gives the whole PartitionKey
    operations: [{ kind: 'query', perSecond: 1, query: { partition: {} } }],
  }),
  explain(Employee, {
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
  // @ts-expect-error -- a definition without indexes has no look-ups
  explain(Employee, { ...base, operations: [{ kind: 'look-up', index: 'name', perSecond: 1 }] }),
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
  explain(Employee, { ...base, operations: [{ kind: 'insert' }] }),
];
