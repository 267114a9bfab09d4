import { own } from '../../base/own.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { codecOf, type Mark } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, KeyOf, MergeOf, ReadOf } from '../definition/shapes.js';
import { storedAsOf, type Stored } from '../definition/stored-entity.js';
import { ValueError } from '../rows/model-error.js';
import type { Row, RowKey } from '../rows/row.js';
import type { RowWrite } from './gateway.js';
import { newStamp, stampAfter } from './write-stamp.js';

/** An entity that was read, or the values of its keys. */
export type KeyOrEntity<D extends AnyDefinition> = KeyOf<D> | ReadTarget<D>;

/** An entity that was read, whole or at least with its keys: it carries its ETag. */
export type ReadTarget<D extends AnyDefinition> = Stored<ReadOf<D>> | Stored<KeyOf<D>>;

/** A write other than a delete. */
export type PutWrite = Extract<RowWrite, { readonly row: Row }>;

/** The condition of a write. */
export interface WriteCondition {
  /**
   * The ETag that the stored entity must have; `'any'` matches every one. When absent, the ETag
   * that the entity was read with.
   */
  readonly ifMatch?: string;
}

export interface StampOptions {
  /** The system's when absent. */
  readonly randomness?: Randomness;
  /** The id of the write; a new one for each when absent. `false`: no write stamps. */
  readonly stamp?: string | false;
}

/**
 * Makes the writes of a definition's entities, as values for gateways, transactions and bulk work.
 * Sends nothing. Methods throw `ValueError` for what cannot be stored.
 */
export interface RowWrites<D extends AnyDefinition> {
  insert(entity: CreateOf<D>): PutWrite;
  /** Needs the ETag that the entity was read with, or `ifMatch`. */
  replace(entity: ReadOf<D>, condition?: WriteCondition): PutWrite;
  /** Changes the given properties. Needs an ETag as `replace` does. */
  merge(target: KeyOrEntity<D>, changes: MergeOf<D>, condition?: WriteCondition): PutWrite;
  upsertReplace(entity: CreateOf<D> | ReadOf<D>): PutWrite;
  /**
   * Creates the entity, or merges the given properties into the stored one. Defaults are not
   * written: a property that the row lacks is read as its default anyway.
   */
  upsertMerge(entity: CreateOf<D>): PutWrite;
  /** Needs the ETag that the entity was read with, or `ifMatch`. */
  delete(target: KeyOrEntity<D>, condition?: WriteCondition): RowWrite;
}

/** The writes of a definition. Sends nothing. */
export function writesOf<D extends AnyDefinition>(
  definition: D,
  { randomness = systemRandomness, stamp }: StampOptions = {},
): RowWrites<D> {
  const codec = codecOf(definition);
  const property = definition.system.writeStamp;
  const stampFor = (entity: object): Mark | undefined => {
    if (stamp === false || property === undefined) return undefined;
    const earlier = own(storedAsOf(entity)?.unknown ?? {}, property);
    return { name: property, wire: stampAfter(earlier, stamp ?? newStamp(randomness)) };
  };
  const whole = (entity: CreateOf<D> | ReadOf<D>): Row => codec.toRow(entity, stampFor(entity));
  return {
    insert: (entity) => ({ kind: 'insert', row: whole(entity) }),
    replace: (entity, condition) => {
      const row = whole(entity);
      refuseMove(definition, row, storedAsOf(entity)?.key);
      return { kind: 'replace', row, etag: etagFor(definition, entity, condition) };
    },
    merge: (target, changes, condition) => {
      refuseOldVersion(definition, target);
      const row = codec.toMergeRow(target as KeyOf<D>, changes, stampFor(target));
      return { kind: 'merge', row, etag: etagFor(definition, target, condition) };
    },
    upsertReplace: (entity) => ({ kind: 'upsert-replace', row: whole(entity) }),
    upsertMerge: (entity) => {
      refuseOldVersion(definition, entity);
      return { kind: 'upsert-merge', row: codec.toUpsertMergeRow(entity, stampFor(entity)) };
    },
    delete: (target, condition) => ({
      kind: 'delete',
      key: targetKey(definition, target),
      etag: etagFor(definition, target, condition),
    }),
  };
}

/** The keys of an entity that was read, or the keys that values make. */
export function targetKey<D extends AnyDefinition>(definition: D, target: KeyOrEntity<D>): RowKey {
  return storedAsOf(target)?.key ?? codecOf(definition).key(target as KeyOf<D>);
}

function etagFor(type: AnyDefinition, target: object, condition?: WriteCondition): string {
  const etag = etagOrAny(type, target, condition);
  return etag === 'any' ? '*' : etag;
}

/**
 * The ETag that is given, as it is, or that the target was read with, or `'any'`. Throws
 * `ValueError` when there is none.
 */
export function etagOrAny(
  { type }: AnyDefinition,
  target: object,
  { ifMatch }: WriteCondition = {},
): string {
  if (ifMatch !== undefined) return ifMatch;
  const etag = storedAsOf(target)?.etag;
  if (etag !== undefined && etag !== '') return etag;
  throw new ValueError(
    `${type}: the entity carries no ETag; give ifMatch an ETag, or 'any' to write over whatever is there`,
  );
}

function refuseMove({ type }: AnyDefinition, to: RowKey, from: RowKey = to): void {
  if (from.partitionKey === to.partitionKey && from.rowKey === to.rowKey) return;
  throw new ValueError(
    `${type}: the changes would move ('${from.partitionKey}', '${from.rowKey}') to ` +
      `('${to.partitionKey}', '${to.rowKey}'); keys never change: insert the one, delete the other`,
  );
}

/**
 * A merge does not change the version of a row, so its properties must be of that version, which
 * only a row that was read shows.
 */
function refuseOldVersion({ type, version, upgradeFrom }: AnyDefinition, target: object): void {
  if (upgradeFrom === undefined) return;
  const found = storedAsOf(target)?.version;
  if (found === version) return;
  throw new ValueError(
    found === undefined
      ? `${type} has older versions: a merge needs the entity as it was read; update() reads it`
      : `${type}: the row is still of version ${found}; replace() stores it as version ${version}`,
  );
}
