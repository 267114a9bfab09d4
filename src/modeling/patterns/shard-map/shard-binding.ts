import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import { ModelError } from '../../rows/model-error.js';
import type { Row } from '../../rows/row.js';
import { unlessPresent, writeIfPresent } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import { ifTableExists } from '../../table/if-table-exists.js';
import { epochOf, fencesOf } from './fence.js';
import type { MapState } from './map-state.js';
import { ShardTakenError } from './shard-errors.js';

// The row by which a table is a shard of one map. The steps of a map walk over all partitions of
// its tables, so two maps on one table would move each other's rows.
//
// It names a witness: a partition that was opened there. As long as the map routes that to the
// shard, the shard has its epoch: only `cleanUp` deletes epochs, of partitions that are elsewhere
// by the map, and it forgets such a witness first. So a table with the binding and without the
// epoch of its witness has lost its rows. `cleanUp` names another one, also where there was none.

/** The map of a table: its name, and the name of the table that it is stored in. */
export interface MapOfShard {
  readonly map: string;
  readonly control: string;
}

/** The map of a table, and the name of its shard there. */
export interface ShardOwner extends MapOfShard {
  readonly shard: string;
}

/** A partition that was opened on a shard, and the text that it is routed by. */
export interface ShardWitness {
  readonly partitionKey: string;
  readonly text: string;
}

/** The binding of a table as it is found. */
export interface ShardBinding extends ShardOwner {
  /** Undefined: none was opened there since it was bound. */
  readonly witness: ShardWitness | undefined;
}

const bindingKey = { partitionKey: reservedPartitionKeys.shardBinding, rowKey: 'map' } as const;
const bindingType = 'ShardBinding';

/** Whether the row tells the map of a table. `EntityType` must have been read. */
export function isBindingRow({ partitionKey, rowKey, properties }: Row): boolean {
  const isThere = partitionKey === bindingKey.partitionKey && rowKey === bindingKey.rowKey;
  return isThere && textIn(properties, 'EntityType') === bindingType;
}

/** The map of a table; undefined: none. One point read. */
export async function ownerOfShard(table: TableGateway): Promise<ShardBinding | undefined> {
  const row = await table.get(bindingKey);
  if (row === undefined || !isBindingRow(row)) return undefined;
  const { properties } = row;
  const [map, control, shard] = ['Map', 'Control', 'Shard'].map((name) => textIn(properties, name));
  const partitionKey = textIn(properties, 'Witness');
  const text = textIn(properties, 'WitnessText');
  const witness =
    partitionKey === undefined || text === undefined ? undefined : { partitionKey, text };
  return { map: map ?? '', control: control ?? '', shard: shard ?? '', witness };
}

/** Makes an open partition the witness of its shard. A write; nothing where the binding is gone. */
export async function bearWitness(
  table: TableGateway,
  { partitionKey, text }: ShardWitness,
): Promise<void> {
  const properties = {
    EntityType: storedText(bindingType),
    Witness: storedText(partitionKey),
    WitnessText: storedText(text),
  };
  const row: Row = { ...bindingKey, properties };
  await writeIfPresent(() => table.write({ kind: 'merge', row, etag: '*' }));
}

/**
 * As `bindShard`, of a table that is taken as it is: a witness that is not there is forgotten. One
 * more point read, and a write where there is such a witness.
 */
export async function rebindShard(table: TableGateway, owner: ShardOwner): Promise<void> {
  await bindShard(table, owner);
  const witness = (await ownerOfShard(table))?.witness;
  if (witness === undefined || (await epochOf(table, witness.partitionKey)) > 0) return;
  await forgetWitness(table, owner);
}

async function forgetWitness(table: TableGateway, owner: ShardOwner): Promise<void> {
  await table.write({ kind: 'upsert-replace', row: bindingRow(owner) });
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
    const row = bindingRow(owner);
    const isBound = await unlessPresent(() => table.write({ kind: 'insert', row }));
    if (isBound !== undefined) return;
    await refuseForeignRow(table);
    return bindShard(table, owner);
  }
  requireOwner(table, found, owner);
}

/** How a map leads to its shards; of a change also `target`, while partitions are handed over. */
export interface LeadingRoutings {
  readonly routing: ShardRouting;
  readonly target?: ShardRouting;
}

/** A shard, the title of its map, and how that routes. */
export interface ShardOfMap extends LeadingRoutings {
  readonly shard: string;
  readonly title: string;
}

/** The routings by which partitions may be open on a shard. */
export function leadingOf(state: MapState): LeadingRoutings {
  const { phase, routing } = state;
  return phase === 'settled' || phase === 'copying'
    ? { routing }
    : { routing, target: state.target };
}

/** Whether one of the routings leads to a shard for a witness. */
export function isLedTo(
  shard: string,
  { text }: ShardWitness,
  { routing, target = routing }: LeadingRoutings,
): boolean {
  return [routing, target].some((each) => shardOfText(each, text) === shard);
}

/**
 * Throws `ModelError` for a shard whose table is that of no map any more, or has lost its rows:
 * what it does not have would count as deleted. `instead` says what to do; of an operation under
 * way when absent. Up to two point reads.
 */
export async function requireBound(
  table: TableGateway,
  shard: ShardOfMap,
  instead = howToGoOn,
): Promise<void> {
  const { kind } = await rowsOfMap(table, shard);
  refuseLost(table, shard, kind, instead);
}

/**
 * What a table has of its map: `unbound`: not even its binding, or there is no table; `lost`: its
 * binding alone. Up to two point reads, and one more before it is `lost`.
 */
export async function rowsOfMap(
  table: TableGateway,
  { shard, ...leading }: Omit<ShardOfMap, 'title'>,
): Promise<{ readonly kind: RowsOfMap; readonly witness: ShardWitness | undefined }> {
  const found = await ifTableExists(() => ownerOfShard(table));
  const witness = found?.witness;
  if (found === undefined) return { kind: 'unbound', witness };
  if (witness === undefined || !isLedTo(shard, witness, leading)) return { kind: 'bound', witness };
  if ((await epochOf(table, witness.partitionKey)) > 0) return { kind: 'bound', witness };
  // It may have been forgotten meanwhile, when its partition was deleted here.
  const again = (await ownerOfShard(table))?.witness;
  const isForgotten = again?.partitionKey !== witness.partitionKey;
  return { kind: isForgotten ? 'bound' : 'lost', witness: again };
}

export interface WitnessOptions {
  /** The settled routing. */
  readonly routing: ShardRouting;
  readonly textOf: (partitionKey: string) => string;
  /** Whether the map is as it was when the routing was read. */
  readonly isCurrent: () => Promise<boolean>;
}

/**
 * Forgets the witnesses of shards that have others by the map, before their epochs are deleted, and
 * makes an open partition of the shard its witness where it has none. A point read of each shard;
 * where it needs a witness two writes, a point read, and range reads up to the first open
 * partition.
 */
export async function renewWitnesses(
  shards: Iterable<{ readonly name: string; readonly table: TableGateway }>,
  { routing, textOf, isCurrent }: WitnessOptions,
): Promise<void> {
  for (const { name, table } of shards) {
    const found = await ownerOfShard(table);
    if (found === undefined) continue;
    if (found.witness !== undefined) {
      if (isLedTo(name, found.witness, { routing })) continue;
      await forgetWitness(table, found);
    }
    if (!shardsOf(routing).includes(name)) continue;
    for await (const { partitionKey, isOwner, epoch } of fencesOf(table)) {
      const witness = { partitionKey, text: textOf(partitionKey) };
      if (!isOwner || epoch === 0 || !isLedTo(name, witness, { routing })) continue;
      await bearWitness(table, witness);
      // A later step may have deleted its epoch, and has found no witness to forget.
      if (!(await isCurrent())) await forgetWitness(table, found);
      break;
    }
  }
}

export type RowsOfMap = 'unbound' | 'lost' | 'bound';

/** For a change that is under way. */
export const howToGoOn =
  'give the right account, or detach the shard and restore it, and run the operation again; where ' +
  'it is gone for good, give it up (operations.giveUp)';

/** For a change that has not begun. */
export const howToKeep =
  'give the right account, or restore it; or take it as it is, by rebuildLocal of recovery, with a ' +
  "manager by attach (unbound: 'taken')";

/** Throws `ModelError` for a table that has not what it had of its map. */
export function refuseLost(
  { table }: TableGateway,
  { shard, title }: ShardOfMap,
  kind: RowsOfMap,
  instead: string,
): void {
  if (kind === 'bound') return;
  const what =
    kind === 'lost' ? `has lost the rows of ${title}` : `knows nothing of ${title} any more`;
  throw new ModelError(
    `the table ${table} of the shard '${shard}' ${what}: its account was emptied, or is another ` +
      `one; ${instead}`,
  );
}

function bindingRow({ map, control, shard }: ShardOwner): Row {
  const properties = {
    EntityType: storedText(bindingType),
    Map: storedText(map),
    Control: storedText(control),
    Shard: storedText(shard),
  };
  return { ...bindingKey, properties };
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
