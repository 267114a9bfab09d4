import assert from 'node:assert/strict';
import { backedUpShards, hourMs, intervals, type BackedUpShards } from './backed-up-shards.js';
import type { Row } from '../../../src/modeling/index.js';
import { Order, orderSchema, type ShardName } from './memory-shards.js';
import { MemoryRows, MemoryTable } from './memory-table.js';
import { wrappedMethods } from './wrapped-methods.js';

// A shard whose account is lost, and what is restored into it.

export interface Emptied extends BackedUpShards {
  /** Of south, the latest first: the amount of customer 500 is 5 in the latter, 1 in the former. */
  readonly names: readonly [string, string];
}

/**
 * South is detached and its account empty; there are two backups of it. Customer 500 has so many
 * more orders, and the latter backup has another order of a customer when one is given.
 */
export async function emptied(rows = 0, customer?: number): Promise<Emptied> {
  const world = await backedUpShards();
  const { shards, store, clock, manager } = world;
  const map = await manager().open('orders', orderSchema);
  const south = shards.rows('south', 'orders');
  const order = south.all.find(({ rowKey }) => rowKey === '0001');
  assert.ok(order !== undefined);
  const { partitionKey, properties } = order;
  for (let id = 2; id < rows + 2; id += 1) {
    const row = { partitionKey, rowKey: String(id).padStart(4, '0'), properties };
    south.apply([{ kind: 'insert', row }]);
  }
  const schedule = { to: store, intervals, keep: 2 };
  await manager().backups.makeDue(schedule);
  const orders = map.entities(Order);
  if (customer !== undefined) await orders.insert({ customer, id: 2, amount: 1 });
  await orders.update({ customer: 500, id: 1 }, (o) => ({ ...o, amount: 5 }));
  clock.advanceMicros(24 * hourMs * 1000);
  await manager().backups.makeDue(schedule);
  const [last = '', first = ''] = await manager().backups.namesOf(store, 'south');
  await manager().detach('south');
  shards.restore('south', 'orders', new MemoryRows());
  return { ...world, names: [last, first] };
}

export async function attach({ manager }: BackedUpShards): Promise<void> {
  const map = await manager().open('orders', orderSchema);
  await manager().attach('south', [map], { keep: 'map', write: true });
}

export async function amounts({ manager }: BackedUpShards): Promise<readonly unknown[]> {
  const map = await manager().open('orders', orderSchema);
  const orders = map.entities(Order);
  const found = await Promise.all([100, 500].map((customer) => orders.get({ customer, id: 1 })));
  return found.map((order) => order?.amount);
}

/** Deletes all rows of south, where programs have opened its table already. */
export function emptyNow({ shards }: BackedUpShards): void {
  const south = shards.rows('south', 'orders');
  south.apply(south.all.map((row) => ({ kind: 'delete', key: row, etag: '*' })));
}

/** Restores the backup until some of its rows are written, and stops there. */
export async function restoredInPart(world: Emptied, name: string): Promise<void> {
  let partitions = 0;
  const dying = world.manager((port) =>
    wrappedMethods(port, async (method, send) => {
      const isOfShard = port instanceof MemoryTable && port.table === 'orders';
      // The last transaction of a partition: that of the binding, and one of a customer.
      if (isOfShard && method === 'transact' && (partitions += 1) > 2) throw new Error('killed');
      return send();
    }),
  );
  await assert.rejects(dying.backups.restore(world.store, name), /killed/);
  assert.notDeepEqual(world.shards.rows('south', 'orders').all, []);
}

/** South is lost while programs go on, and has a part of the backup. */
export async function lostAndRestoredInPart(world: Emptied): Promise<void> {
  await world.manager().detach('south');
  emptyNow(world);
  await restoredInPart(world, world.names[0]);
}

/** In the control table, of a restore that has not ended. */
export function restoreRow(shard: ShardName): Row {
  return {
    partitionKey: '!shard-manager',
    rowKey: `restore_${shard}`,
    properties: {
      EntityType: { type: 'String', value: 'ShardManager' },
      Backup: { type: 'String', value: `${shard}/x/` },
    },
  };
}

export const halfRestored = {
  name: 'ManagerError',
  message:
    /has a part of the backup.*restore it again with resume.*then run or cancel.*then attach it/,
};
