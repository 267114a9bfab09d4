import assert from 'node:assert/strict';
import {
  defineEntity,
  int32,
  key,
  string,
  type RowPage,
  type RowQuery,
  type TableGateway,
} from '../../../src/modeling/index.js';
import {
  assignTexts,
  listRouting,
  shardedEntitiesOf,
  shardMapOf,
  type ShardedEntities,
  type ShardMap,
  type ShardMapOptions,
} from '../../../src/modeling/patterns/shard-map/index.js';
import { MemoryRows, MemoryTable } from './memory-table.js';
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

/** A move between two shards that is under way, and a second program's gateways of the tables. */
interface BegunMove {
  readonly tables: ShardTables;
  readonly map: ShardMap;
}

/**
 * Orders 1 and 2 of contoso are to be handed over from a shard to another, which has order 1 of
 * wingtip; `isCopied`: and a copy of order 1 of contoso. `map.cutOver` hands over.
 */
export async function begunMove(
  from: 'a' | 'c',
  to: 'a' | 'b',
  { isCopied }: { readonly isCopied: boolean },
): Promise<BegunMove> {
  const rows = {
    a: new MemoryRows(),
    b: new MemoryRows(),
    c: new MemoryRows(),
    control: new MemoryRows(),
  };
  const opened = (): ShardTables => ({
    a: new MemoryTable(rows.a, { table: 'a' }),
    b: new MemoryTable(rows.b, { table: 'b' }),
    c: new MemoryTable(rows.c, { table: 'c' }),
    control: new MemoryTable(rows.control, { table: 'control' }),
  });
  const map = mapOf(opened());
  await map.create(listRouting({ contoso: from }, to));
  const orders = ordersOf(map);
  await orders.insert({ tenant: 'contoso', id: 1, amount: 1 });
  await orders.insert({ tenant: 'wingtip', id: 1, amount: 1 });
  await map.start(assignTexts(['contoso'], to));
  if (isCopied) await map.backfill();
  await orders.insert({ tenant: 'contoso', id: 2, amount: 2 });
  const begun = map.cutOver({ signal: AbortSignal.abort() });
  await assert.rejects(begun, { name: 'AbortError' });
  return { tables: opened(), map };
}

/** A gateway whose pages another function answers, by those of the table. */
export function withPages(
  table: TableGateway,
  page: (query: RowQuery) => Promise<RowPage>,
): TableGateway {
  return {
    table: table.table,
    get: (key, select) => table.get(key, select),
    write: (write) => table.write(write),
    transact: (writes) => table.transact(writes),
    page,
  };
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
