// What must compile, and what must not. The compiler runs this file; nothing else does.
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  upgradeRows,
  type SpreadEntities,
  type TableGateway,
} from '../../src/modeling/index.js';
import { reKeyingOf, rebucketed } from '../../src/modeling/patterns/re-keying/index.js';
import { rowLeasesOf } from '../../src/modeling/patterns/row-leases/index.js';

declare const table: TableGateway;
declare const other: TableGateway;

const Old = defineEntity({
  type: 'Order',
  properties: { customer: string(), id: int32(), amount: int32() },
  partitionKey: (p) => key`${p.customer}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const New = defineEntity({
  type: 'Order',
  version: 2,
  properties: { customer: string(), id: int32(), total: int32() },
  partitionKey: (p) => key`${p.id.padded(4)}`,
  rowKey: (p) => key`${p.customer}`,
});
const places = {
  name: 'orders',
  from: { definition: Old, table },
  to: { definition: New, table: other },
  keys: (order: { customer: string; id: number }) => ({ old: order, new: order }),
} as const;

const move = reKeyingOf({
  ...places,
  forward: ({ amount, ...order }) => ({ ...order, total: amount }),
  backward: ({ total, ...order }) => ({ ...order, amount: total }),
});

// @ts-expect-error -- the new entity needs its total
void reKeyingOf({ ...places, forward: (old) => old, backward: (order) => order });
void reKeyingOf({
  ...places,
  forward: ({ amount, ...order }) => ({ ...order, total: amount }),
  backward: ({ total, ...order }) => ({ ...order, amount: total }),
  // @ts-expect-error -- the keys of the new side need the id
  keys: (customer: string) => ({ old: { customer, id: 1 }, new: { customer } }),
});

void move.entities.get({ customer: 'contoso', id: 1 });
// @ts-expect-error -- an address has what both keys are made of
void move.entities.get({ customer: 'contoso' });
void move.entities.insert({ customer: 'contoso', id: 1, total: 1 });
// @ts-expect-error -- entities have the new form
void move.entities.insert({ customer: 'contoso', id: 1, amount: 1 });
// @ts-expect-error -- a merge has to say over what it writes
void move.entities.merge({ customer: 'contoso', id: 1 }, { total: 2 });
// @ts-expect-error -- keys never change
void move.entities.merge({ customer: 'contoso', id: 1 }, { id: 2 }, { ifMatch: 'any' });
// @ts-expect-error -- queries are given for both sides
void move.entities.query({ new: () => entitiesOf(New, other).scanTable() });

declare const buckets: SpreadEntities<typeof Old, 'customer'>;
declare const others: SpreadEntities<typeof New, 'id'>;
// @ts-expect-error -- another number of buckets is of the same definition
void rebucketed(buckets, others);

const leases = rowLeasesOf(Old, table, { holder: 'me' });
// @ts-expect-error -- a lease says who holds it
void rowLeasesOf(Old, table, {});
// @ts-expect-error -- a lease is of a whole key
void leases.acquire({ customer: 'contoso' });
void leases.withLease({ customer: 'contoso', id: 1 }, async (lease, signal) => {
  signal.throwIfAborted();
  const token: bigint = lease.fenceToken;
  await lease.update((order) => ({ ...order, amount: Number(token) }));
  // @ts-expect-error -- the entity is of the definition
  await lease.update((order) => ({ ...order, total: 1 }).total);
});

void upgradeRows(entitiesOf(New, table), { partition: { id: 1 } });
// @ts-expect-error -- a partition has the values of the PartitionKey
void upgradeRows(entitiesOf(New, table), { partition: { customer: 'contoso' } });
