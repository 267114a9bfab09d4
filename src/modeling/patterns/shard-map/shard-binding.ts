import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import { ModelError } from '../../rows/model-error.js';
import type { Row } from '../../rows/row.js';
import { unlessPresent, writeIfPresent } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import { ShardTakenError } from './shard-errors.js';

// The row by which a table is a shard of one map. The steps of a map walk over all partitions of
// its tables, so two maps on one table would move each other's rows.

/** The map of a table: its name, and the name of the table that it is stored in. */
export interface MapOfShard {
  readonly map: string;
  readonly control: string;
}

/** The map of a table, and the name of its shard there. */
export interface ShardOwner extends MapOfShard {
  readonly shard: string;
}

const bindingKey = { partitionKey: reservedPartitionKeys.shardBinding, rowKey: 'map' } as const;
const bindingType = 'ShardBinding';

/** Whether the row tells the map of a table. `EntityType` must have been read. */
export function isBindingRow({ partitionKey, rowKey, properties }: Row): boolean {
  const isThere = partitionKey === bindingKey.partitionKey && rowKey === bindingKey.rowKey;
  return isThere && textIn(properties, 'EntityType') === bindingType;
}

/** The map of a table; undefined: none. One point read. */
export async function ownerOfShard(table: TableGateway): Promise<ShardOwner | undefined> {
  const row = await table.get(bindingKey);
  if (row === undefined || !isBindingRow(row)) return undefined;
  const { properties } = row;
  const [map, control, shard] = ['Map', 'Control', 'Shard'].map((name) => textIn(properties, name));
  return { map: map ?? '', control: control ?? '', shard: shard ?? '' };
}

/**
 * Throws `ShardTakenError` for the table of another shard of the same map: two names refer to one
 * account, or the accounts of two names were exchanged, so that the map would confuse the shards.
 */
export function refuseOtherShard(table: TableGateway, found: ShardOwner, name: string): void {
  if (found.shard === name) return;
  throw new ShardTakenError(
    `${table.table} of the shard '${name}' is that of the shard '${found.shard}' of the map ` +
      `'${found.map}': a shard keeps its name; give its account under '${found.shard}'`,
  );
}

/** Throws `ShardTakenError` for the table of another map, or of another shard of this one. */
export function requireOwner(table: TableGateway, found: ShardOwner, owner: ShardOwner): void {
  if (found.map === owner.map && found.control === owner.control) {
    return refuseOtherShard(table, found, owner.shard);
  }
  throw new ShardTakenError(
    `${table.table} is a shard of the map '${found.map}' in ${found.control}: the map ` +
      `'${owner.map}' in ${owner.control} would move what is there; give it tables of its own`,
  );
}

/** As `refuseOtherShard`, of tables by their shards. A point read of each. */
export async function refuseOtherShards(
  shards: Iterable<{ readonly name: string; readonly table: TableGateway }>,
  { map, control }: MapOfShard,
): Promise<void> {
  for (const { name, table } of shards) {
    const found = await ownerOfShard(table);
    if (found?.map === map && found.control === control) refuseOtherShard(table, found, name);
  }
}

/**
 * Makes a table a shard of a map. A point read, and an insert unless it is one. Throws
 * `ShardTakenError` for the table of another map, or of another shard of this one, and where a
 * program keeps a row of its own under the key.
 */
export async function bindShard(table: TableGateway, owner: ShardOwner): Promise<void> {
  const found = await ownerOfShard(table);
  if (found === undefined) {
    const properties = {
      EntityType: storedText(bindingType),
      Map: storedText(owner.map),
      Control: storedText(owner.control),
      Shard: storedText(owner.shard),
    };
    const row: Row = { ...bindingKey, properties };
    const isBound = await unlessPresent(() => table.write({ kind: 'insert', row }));
    if (isBound !== undefined) return;
    await refuseForeignRow(table);
    return bindShard(table, owner);
  }
  requireOwner(table, found, owner);
}

/**
 * Throws `ModelError` for a shard whose table is that of no map any more, though an operation moves
 * partitions from there: what it does not have would count as deleted. One point read. `instead`
 * says what to do; of an operation under way when absent.
 */
export async function requireBound(
  table: TableGateway,
  shard: ShardOfMap,
  instead = howToGoOn,
): Promise<void> {
  if ((await ownerOfShard(table)) === undefined) throw unboundShard(table, shard, instead);
}

/** A shard, and the title of its map. */
export interface ShardOfMap {
  readonly shard: string;
  readonly title: string;
}

const howToGoOn =
  'give the right account, or detach the shard and restore it, and run the operation again; where ' +
  'it is gone for good, give it up (operations.giveUp)';

/** For a change that has not begun. */
export const howToKeep =
  'give the right account, or restore it; or take it as it is, by rebuildLocal of recovery, with a ' +
  "manager by attach (unbound: 'taken')";

/** For a shard whose table is that of no map any more. `instead` says what to do. */
export function unboundShard(
  { table }: TableGateway,
  { shard, title }: ShardOfMap,
  instead: string,
): ModelError {
  return new ModelError(
    `the table ${table} of the shard '${shard}' knows nothing of ${title} any more: its ` +
      `account was emptied, or is another one; ${instead}`,
  );
}

async function refuseForeignRow(table: TableGateway): Promise<void> {
  const row = await table.get(bindingKey);
  if (row === undefined || isBindingRow(row)) return;
  const { partitionKey, rowKey } = bindingKey;
  throw new ShardTakenError(
    `${table.table} has a row ('${partitionKey}', '${rowKey}') that no shard map has written; delete ` +
      'it, or give the map a table of its own',
  );
}

/** Makes a table no shard of a map any more. One delete. */
export async function unbindShard(table: TableGateway): Promise<void> {
  await writeIfPresent(() => table.write({ kind: 'delete', key: bindingKey, etag: '*' }));
}
