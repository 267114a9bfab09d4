import {
  defineEntity,
  int32,
  key,
  string,
  type TableGateway,
} from '../../../src/modeling/index.js';
import {
  shardedEntitiesOf,
  shardMapOf,
  type ShardedEntities,
  type ShardMap,
  type ShardMapOptions,
} from '../../../src/modeling/patterns/shard-map/index.js';
import { startTables, type ObservedTables } from './observed-tables.js';

/** Orders of tenants, one partition a tenant. */
export const Order = defineEntity({
  type: 'Order',
  properties: { tenant: string(), id: int32(), amount: int32(), note: string().optional() },
  partitionKey: (p) => key`${p.tenant}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});

export type Orders = ShardedEntities<typeof Order>;

/** The tables of a shard map: shards a, b and c, and the table of the map. */
export type ShardTables = Readonly<Record<'a' | 'b' | 'c' | 'control', TableGateway>>;

/** Starts the servers of two accounts; `close` ends them. */
export async function startTwoAccounts() {
  const here = await startTables({ inMemory: true });
  const there = await startTables({ inMemory: true });
  const close = () => Promise.all([here[Symbol.asyncDispose](), there[Symbol.asyncDispose]()]);
  return { here, there, close };
}

/** Tables of two accounts. */
export async function newShardTables(
  here: ObservedTables,
  there: ObservedTables,
): Promise<ShardTables> {
  const [a, b, c, control] = await Promise.all([
    here.newTable(),
    there.newTable(),
    here.newTable(),
    here.newTable(),
  ]);
  return { a: a.gateway, b: b.gateway, c: c.gateway, control: control.gateway };
}

export function mapOf(
  { control, ...shards }: ShardTables,
  options: Partial<ShardMapOptions> = {},
): ShardMap {
  return shardMapOf({ name: 'orders', control, shards, refreshMs: 0, settleMs: 0, ...options });
}

export function ordersOf(map: ShardMap): Orders {
  return shardedEntitiesOf(Order, map);
}

export const tenants = ['contoso', 'fabrikam', 'northwind', 'tailspin', 'wingtip'] as const;

/** The amounts of a query or a table, by tenant and id. */
export async function amountsIn(
  orders: AsyncIterable<{ readonly tenant: string; readonly id: number; readonly amount: number }>,
): Promise<[string, number][]> {
  const found: [string, number][] = [];
  for await (const { tenant, id, amount } of orders) found.push([`${tenant} ${id}`, amount]);
  return found;
}

/** The shards that own each partition according to their rows. */
export async function ownersIn({ a, b, c }: ShardTables): Promise<Map<string, string[]>> {
  const owners = new Map<string, string[]>();
  for (const [name, table] of Object.entries({ a, b, c })) {
    const { rows } = await table.page({ filter: "RowKey eq '!shard:owner'" });
    for (const { partitionKey } of rows) {
      owners.set(partitionKey, [...(owners.get(partitionKey) ?? []), name]);
    }
  }
  return owners;
}

/** The partitions of a table, without the row that says whose shard it is. */
export async function partitionsIn(table: TableGateway): Promise<string[]> {
  const { rows } = await table.page({});
  const keys = new Set(rows.map(({ partitionKey }) => partitionKey));
  keys.delete('!shard-binding');
  return [...keys];
}
