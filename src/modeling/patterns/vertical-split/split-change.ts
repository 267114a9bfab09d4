import { createHash } from 'node:crypto';
import { own, setOwn } from '../../../base/own.js';
import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { sameValue } from '../../rows/same-value.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import type { Row, RowKey, RowProperties, StoredRow, WireValue } from '../../rows/row.js';
import { allRows } from '../../table/all-rows.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import {
  partType,
  splitBefore,
  splitChange,
  splitPair,
  splitRemoved,
} from './vertical-definition.js';

/**
 * The part of a change that a half will get, until it has it: a row beside the half, so that secret
 * properties stay in their table. It has the changed properties under their own names, encrypted as
 * in the half, and
 *
 *   splitPair     the entity, as in the half
 *   splitChange   the id of the change: it counts when the leader names it for this group
 *   splitRemoved  names of the properties that the half will lack; absent: none
 *   splitBefore   digests of the changed and removed properties, by name, as they were; encrypted
 *                 where one of them is
 */
export interface PendingPart {
  readonly row: StoredRow;
  readonly id: string;
  readonly pair: string;
}

const prefix = reservedRowKeys.splitChange;
const typeOfParts = 'SplitChange';
const ownProperties: ReadonlySet<string> = new Set([
  partType,
  splitBefore,
  splitChange,
  splitPair,
  splitRemoved,
]);

function keyOfPart({ partitionKey, rowKey }: RowKey): RowKey {
  return { partitionKey, rowKey: `${prefix}${rowKey}` };
}

/** The half that a part belongs to. */
export function keyOfHalf({ row: { partitionKey, rowKey } }: PendingPart): RowKey {
  return { partitionKey, rowKey: rowKey.slice(prefix.length) };
}

/** Undefined for a row of another program. */
function partIn(row: StoredRow): PendingPart | undefined {
  const { properties } = row;
  const [id, pair] = [textIn(properties, splitChange), textIn(properties, splitPair)];
  if (textIn(properties, partType) !== typeOfParts) return undefined;
  return id === undefined || pair === undefined ? undefined : { row, id, pair };
}

/** One point read. */
export async function partOf(table: TableGateway, half: RowKey): Promise<PendingPart | undefined> {
  const row = await table.get(keyOfPart(half));
  return row && partIn(row);
}

/** All parts in a table. A range read for each 1,000. */
export async function* partsOf(table: TableGateway): AsyncGenerator<PendingPart, void, undefined> {
  for await (const row of allRows(table, { rowKey: rangeWithPrefix(prefix) })) {
    const part = partIn(row);
    if (part !== undefined) yield part;
  }
}

/** The difference of a half after the change. */
export interface HalfChange {
  readonly properties: RowProperties;
  /** Names of the properties that it will lack. */
  readonly removed: readonly string[];
  /** Names of the properties that its table encrypts. */
  readonly encrypt: readonly string[];
}

/** The change from one row to another one with the same keys. */
export function changeBetween(before: Row, after: Row): HalfChange {
  const changed = Object.entries(after.properties).filter(([name, wire]) => {
    const known = own(before.properties, name);
    return known === undefined || !sameValue(known, wire);
  });
  const removed = Object.keys(before.properties).filter(
    (name) => !Object.hasOwn(after.properties, name),
  );
  const encrypt = [...(before.encrypt ?? []), ...(after.encrypt ?? [])];
  return { properties: Object.fromEntries(changed), removed, encrypt };
}

/** The row of a part. `half` is as it was read. */
export function partRow(
  half: Row,
  { properties, removed, encrypt }: HalfChange,
  { id, pair }: { readonly id: string; readonly pair: string },
): Row {
  const names = [...Object.keys(properties), ...removed];
  const secret = names.filter((name) => encrypt.includes(name));
  return {
    ...keyOfPart(half),
    properties: {
      ...properties,
      [partType]: storedText(typeOfParts),
      [splitChange]: storedText(id),
      [splitPair]: storedText(pair),
      ...(removed.length === 0 ? {} : { [splitRemoved]: storedText(removed.join(',')) }),
      [splitBefore]: storedText(digestsOf(names, half.properties).join(',')),
    },
    ...(secret.length === 0 ? {} : { encrypt: [...secret, splitBefore] }),
  };
}

/**
 * The writes that apply a part of a change to its half and delete the part. Properties of the half
 * that others have changed since the part was written keep their values.
 */
export function applyingWrites(part: PendingPart, half: StoredRow): readonly RowWrite[] {
  const { partitionKey, rowKey, etag } = half;
  const { properties, removed } = unchangedSince(part, half.properties);
  const secret = part.row.encrypt?.filter(isOfHalf) ?? [];
  if (removed.length === 0 && secret.length === 0) {
    const row = { partitionKey, rowKey, properties };
    return [{ kind: 'merge', row, etag }, deletingWrite(part)];
  }
  // A merge cannot remove properties, and a table with encryption refuses to merge encrypted ones.
  const kept = Object.entries(half.properties).filter(([name]) => !removed.includes(name));
  const row = {
    partitionKey,
    rowKey,
    properties: { ...Object.fromEntries(kept), ...properties },
    encrypt: [...new Set([...(half.encrypt ?? []), ...secret])],
  };
  return [{ kind: 'replace', row, etag }, deletingWrite(part)];
}

/**
 * The changes and removals of a part, without those of properties that others have changed in the
 * half since the part was written.
 */
function unchangedSince({ row }: PendingPart, now: RowProperties): Omit<HalfChange, 'encrypt'> {
  const changed = Object.keys(row.properties).filter(isOfHalf);
  const removed = listIn(row, splitRemoved);
  const names = [...changed, ...removed].toSorted();
  const [before, found] = [listIn(row, splitBefore), digestsOf(names, now)];
  const isUnchanged = (name: string): boolean => {
    const at = names.indexOf(name);
    return found[at] === before[at];
  };
  const properties: Record<string, WireValue> = {};
  for (const name of changed.filter(isUnchanged)) {
    const wire = own(row.properties, name);
    if (wire !== undefined) setOwn(properties, name, wire);
  }
  return { properties, removed: removed.filter(isUnchanged) };
}

export function deletingWrite({ row: { partitionKey, rowKey, etag } }: PendingPart): RowWrite {
  return { kind: 'delete', key: { partitionKey, rowKey }, etag };
}

function isOfHalf(name: string): boolean {
  return !ownProperties.has(name);
}

/** Names have no commas, and neither have digests. */
function listIn({ properties }: Row, name: string): readonly string[] {
  const text = textIn(properties, name);
  return text === undefined ? [] : text.split(',');
}

/**
 * A digest of each property, in the order of their names; empty for a property that the half lacks.
 */
function digestsOf(names: readonly string[], half: RowProperties): readonly string[] {
  return names.toSorted().map((name) => {
    const wire = own(half, name);
    return wire === undefined ? '' : digestOf(wire);
  });
}

function digestOf(wire: WireValue): string {
  const value =
    wire.type === 'Binary' ? Buffer.from(wire.value).toString('hex') : String(wire.value);
  const text = `${wire.type} ${Object.is(wire.value, -0) ? '-0' : value}`;
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
