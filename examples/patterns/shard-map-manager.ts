// Shards and named maps over them, and a change of one as an operation with an id. Runs with the
// cloud service, Azurite and this server: set AZURE_STORAGE_CONNECTION_STRING, or start either of
// the latter two.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import {
  dateTime,
  defineEntity,
  int32,
  key,
  openAccountTables,
  openTable,
  string,
} from 'tabularium/modeling';
import { deleteWhere } from 'tabularium/modeling/high-volume-delete';
import { splitRange } from 'tabularium/modeling/shard-map';
import {
  backupFiles,
  sharded,
  shardMapManagerOf,
  type LostMap,
  type ShardLocation,
} from 'tabularium/modeling/shard-map-manager';

const Order = defineEntity({
  type: 'Order',
  properties: { customer: int32(), id: int32(), item: string(), placed: dateTime() },
  partitionKey: (p) => key`${p.customer.padded(8)}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const names = new Set<string>(['managercontrol']);
const clientOf = (name: string) => TableClient.fromConnectionString(connection, name, options);
const service = TableServiceClient.fromConnectionString(connection, options);
const account = openAccountTables(service);

/** A shard is an account. Here they share one, so their tables have a suffix. */
function locationOf(suffix: string): ShardLocation {
  const named = (table: string) => {
    names.add(`${table}${suffix}`);
    return `${table}${suffix}`;
  };
  return {
    table: (table) => openTable(clientOf(named(table))),
    account: { create: (table) => account.create(named(table)) },
  };
}

const directory = await mkdtemp(join(tmpdir(), 'shard-backups-'));
await clientOf('managercontrol').createTable();
try {
  const control = openTable(clientOf('managercontrol'));
  const locations = {
    north: locationOf('north'),
    south: locationOf('south'),
    west: locationOf('west'),
  };
  const manager = shardMapManagerOf({
    control,
    shards: locations,
    // An example does not wait for the readers of other programs: leave this out.
    settleMs: 0,
  });
  await manager.addShard('north', { region: 'westeurope' });
  await manager.addShard('south', { region: 'southafricanorth' });

  const schema = { version: 1, sharded: [sharded(Order, 'customer')] } as const;
  const map = await manager.create({
    name: 'orders',
    table: 'orders',
    schema,
    routing: { kind: 'range', ranges: [{ shard: 'north' }, { from: 5000, shard: 'south' }] },
  });

  const orders = map.entities(Order);
  for (const customer of [7, 2500, 4999, 5000]) {
    await orders.insert({ customer, id: 1, item: 'lamp', placed: new Date('2014-07-31') });
  }
  console.log(`customer 4999 is on ${await map.shardOf(4999)}`);

  await manager.addShard('west');
  const range = { from: map.textOf(2000), before: map.textOf(5000) };
  const split = splitRange(range, 'west');
  const { id } = await map.operations.begin(split, { title: 'split at 2000', mode: 'read-only' });

  await map.operations.run(id, {
    onProgress: ({ step, percent }) => console.log(`${step}: ${percent} %`),
  });

  for (const { title, status, begunAt } of await manager.operations()) {
    console.log(`${title}: ${status}, begun ${begunAt}`);
  }
  console.log(`customer 4999 is on ${await map.shardOf(4999)}`);

  await orders.insert({ customer: 5000, id: 2, item: 'desk', placed: new Date('2012-02-29') });
  const { deleted } = await deleteWhere(orders, {
    scan: 'table',
    where: (p) => p.placed.lt(new Date('2013-07-01')),
  });
  console.log(`purged: ${deleted}`);

  await manager.setShard('south', { status: 'read-only' });

  await manager.detach('south');
  // … the account is restored from a copy …
  const { plans } = await manager.attach('south', [map], { keep: 'map' });
  for (const { map: name, plan } of plans) {
    console.log(`${name}: ${plan.differences.length} partitions differ`);
  }
  await manager.attach('south', [map], { keep: 'map', write: true });

  await manager.setShard('north', { holds: ['ledger', 'logs'] });
  await manager.setShard('south', { holds: ['logs'] });
  const intervals = { ledger: 3_600_000, logs: 86_400_000 };
  const store = backupFiles(directory);
  const { made, failed, unplanned } = await manager.backups.makeDue({
    to: store,
    intervals,
    keep: 7,
    onProgress: ({ shard, table, rows }) => console.log(`${shard} ${table}: ${rows} rows read`),
  });
  for (const { name, tables } of made) console.log(name, tables);
  for (const { shard, error } of failed) console.error(`no backup of ${shard}:`, error);
  console.log(`nobody has said what ${unplanned.join(', ')} holds`);

  // The row that registers the map is lost.
  const key = { partitionKey: '!shard-manager', rowKey: 'map_orders' };
  await control.write({ kind: 'delete', key, etag: '*' });
  const lost: LostMap<'int'> = {
    name: 'orders',
    table: 'orders',
    schema,
    routing: { kind: 'range', first: 'north' },
  };
  const found = await manager.rebuild(lost);
  console.log(`the map is ${found.isUnregistered ? 'not ' : ''}registered`);
  await manager.rebuild(lost, { write: true });

  await manager.detach('north');
  // … its account is lost: programs have a new one under its name …
  const renewed = { ...locations, north: locationOf('renewed') };
  const successor = shardMapManagerOf({ control, shards: renewed, settleMs: 0 });
  const [latest = ''] = await successor.backups.namesOf(store, 'north');
  await successor.backups.restore(store, latest, {
    onProgress: ({ step, table, rows, of }) => console.log(`${step} ${table}: ${rows} of ${of}`),
  });
  const restored = await successor.open('orders', schema);
  await successor.attach('north', [restored], { keep: 'map', write: true });
  const lamp = await restored.entities(Order).get({ customer: 7, id: 1 });
  console.log(`customer 7 has a ${lamp?.item} again`);
} finally {
  await rm(directory, { recursive: true });
  for (const name of names) await account.drop(name);
}
