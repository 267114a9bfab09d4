import { defineEntity, int32, key, type TableGateway } from '../../../src/modeling/index.js';
import {
  sharded,
  shardMapManagerOf,
  type ManagedMap,
  type ShardMapManager,
  type ShardMapManagerOptions,
  type ShardLocation,
} from '../../../src/modeling/patterns/shard-map-manager/index.js';
import { holdingTimers, type Timers } from '../../../src/base/async/timers.js';
import { allRows } from '../../../src/modeling/table/all-rows.js';
import { isContent } from '../../../src/modeling/patterns/shard-map/shown-rows.js';
import { TableNotFoundError } from '../../../src/modeling/table/errors.js';
import { MemoryRows, MemoryTable } from './memory-table.js';

// Shards of a manager in memory: accounts whose tables are there when they are asked for.

export const Order = defineEntity({
  type: 'Order',
  properties: { customer: int32(), id: int32(), amount: int32() },
  partitionKey: (p) => key`${p.customer.padded(6)}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});

export const orderSchema = { version: 1, sharded: [sharded(Order, 'customer')] } as const;

export const shardNames = ['north', 'south', 'west'] as const;
export type ShardName = (typeof shardNames)[number];

/** Fires at once, so that nothing waits for another program. */
const hurried: Timers = {
  start: (_delayMs, callback, argument) => holdingTimers.start(0, callback, argument),
};

/** The tables of all accounts, by account and name. */
export class MemoryShards {
  /** What programs that begin later find there. */
  control = new MemoryRows();
  /** The tables that managers have made, by account and name. */
  readonly created = new Set<string>();
  readonly #tables = new Map<string, MemoryRows>();
  /** Tables of accounts that were exchanged, until they are made. */
  readonly #absent = new Set<string>();

  /** Another account has the name: an empty one without tables, also for programs that run. */
  exchange(account: ShardName): void {
    for (const [name, rows] of this.#tables) {
      if (!name.startsWith(`${account} `)) continue;
      rows.apply(rows.all.map((row) => ({ kind: 'delete', key: row, etag: '*' })));
      this.#absent.add(name);
    }
  }

  #requireThere(name: string): void {
    if (!this.#absent.has(name)) return;
    throw new TableNotFoundError(`there is no table ${name}`, {
      status: 404,
      code: 'TableNotFound',
    });
  }

  rows(account: string, table: string): MemoryRows {
    const name = `${account} ${table}`;
    const found = this.#tables.get(name) ?? new MemoryRows();
    this.#tables.set(name, found);
    return found;
  }

  /** Puts the table of a shard back to an earlier copy. */
  restore(account: string, table: string, rows: MemoryRows): void {
    this.#tables.set(`${account} ${table}`, rows);
  }

  table(account: ShardName): TableGateway {
    return new MemoryTable(this.rows(account, 'orders'), { table: 'orders' });
  }

  /**
   * A program, whose requests may go through `wrap`. `accounts`: those of shards that are not in
   * the account of their name.
   */
  manager(
    wrap: <T extends object>(port: T) => T = (port) => port,
    options: Partial<ShardMapManagerOptions> = {},
    accounts: Partial<Record<ShardName, string>> = {},
  ): ShardMapManager {
    const locationOf = (account: string): ShardLocation => ({
      table: (name) => {
        const before = async (): Promise<void> => this.#requireThere(`${account} ${name}`);
        return wrap(new MemoryTable(this.rows(account, name), { table: name, before }));
      },
      account: wrap({
        create: async (name: string) => {
          this.#absent.delete(`${account} ${name}`);
          this.created.add(`${account} ${name}`);
          return 'exists' as const;
        },
      }),
    });
    return shardMapManagerOf({
      control: wrap(new MemoryTable(this.control, { table: 'control' })),
      shards: Object.fromEntries(
        shardNames.map((name) => [name, locationOf(accounts[name] ?? name)]),
      ),
      home: locationOf('home'),
      refreshMs: 0,
      settleMs: 0,
      takeOverMs: 0,
      timers: hurried,
      ...options,
    });
  }

  /** What programs have written, by shard, as `customer:id`; each partition with its owners. */
  async content(): Promise<{
    readonly rows: ReadonlyMap<string, readonly ShardName[]>;
    readonly owners: ReadonlyMap<string, readonly ShardName[]>;
  }> {
    const rows = new Map<string, ShardName[]>();
    const owners = new Map<string, ShardName[]>();
    for (const shard of shardNames) {
      for await (const row of allRows(this.table(shard), {})) {
        const { partitionKey, rowKey } = row;
        const add = (to: Map<string, ShardName[]>, name: string) =>
          to.set(name, [...(to.get(name) ?? []), shard]);
        if (isContent(row)) add(rows, `${Number(partitionKey)}:${Number(rowKey)}`);
        if (rowKey === '!shard:owner') add(owners, partitionKey);
      }
    }
    return { rows, owners };
  }
}

const customers = [7, 60, 99, 100, 500] as const;

/** North has the customers before 100, south those from 100 on; each has one order. */
export async function filledShards(): Promise<{
  readonly shards: MemoryShards;
  readonly map: ManagedMap<'int'>;
}> {
  const shards = new MemoryShards();
  const manager = shards.manager();
  for (const name of shardNames) await manager.addShard(name);
  const map = await manager.create({
    name: 'orders',
    table: 'orders',
    schema: orderSchema,
    routing: { kind: 'range', ranges: [{ shard: 'north' }, { from: 100, shard: 'south' }] },
  });
  const orders = map.entities(Order);
  for (const customer of customers) await orders.insert({ customer, id: 1, amount: 1 });
  return { shards, map };
}
