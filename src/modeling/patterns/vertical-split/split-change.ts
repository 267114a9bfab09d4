import { createHash } from 'node:crypto';
import { own, setOwn } from '../../../base/own.js';
import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import type { Row, RowKey, RowProperties, StoredRow, WireValue } from '../../rows/row.js';
import { allRows } from '../../table/all-rows.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { splitPair } from './vertical-definition.js';

/**
 * The part of a change that a half will get, until it has it: a row beside the half, so that what
 * is secret stays in its table. It has the changed properties under their own names, and
 *
 *   splitPair     the entity, as in the half
 *   splitChange   the id of the change: it counts when the leader names it for this group
 *   splitBefore   digests of the changed properties, by name, as they were
 */
export interface PendingPart {
  readonly row: StoredRow;
  readonly id: string;
  readonly pair: string;
}

const prefix = reservedRowKeys.splitChange;
const partType = 'SplitChange';
const typeProperty = 'EntityType';
const idProperty = 'splitChange';
const beforeProperty = 'splitBefore';
const ownProperties: ReadonlySet<string> = new Set([
  typeProperty,
  idProperty,
  beforeProperty,
  splitPair,
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
  const [id, pair] = [textIn(properties, idProperty), textIn(properties, splitPair)];
  if (textIn(properties, typeProperty) !== partType) return undefined;
  return id === undefined || pair === undefined ? undefined : { row, id, pair };
}

/** One point read. */
export async function partOf(table: TableGateway, half: RowKey): Promise<PendingPart | undefined> {
  const row = await table.get(keyOfPart(half));
  return row && partIn(row);
}

/** All of a table. A range read for each 1,000. */
export async function* partsOf(table: TableGateway): AsyncGenerator<PendingPart, void, undefined> {
  for await (const row of allRows(table, { rowKey: rangeWithPrefix(prefix) })) {
    const part = partIn(row);
    if (part !== undefined) yield part;
  }
}

/** The row of a part. `merge` has the changed properties; `half` is as it was read. */
export function partRow(
  merge: Row,
  half: Row,
  { id, pair }: { readonly id: string; readonly pair: string },
): Row {
  return {
    ...keyOfPart(merge),
    properties: {
      ...merge.properties,
      [typeProperty]: storedText(partType),
      [idProperty]: storedText(id),
      [splitPair]: storedText(pair),
      [beforeProperty]: storedText(digestsOf(merge.properties, half.properties).join(',')),
    },
  };
}

/** Deletes a part, and with it gives the half what nobody else has changed since. */
export function applyingWrites(part: PendingPart, half: StoredRow): readonly RowWrite[] {
  const changed = changedIn(part);
  const before = (textIn(part.row.properties, beforeProperty) ?? '').split(',');
  const now = digestsOf(changed, half.properties);
  const names = Object.keys(changed).toSorted();
  const properties: Record<string, WireValue> = {};
  for (const [at, name] of names.entries()) {
    const wire = own(changed, name);
    if (wire !== undefined && now[at] === before[at]) setOwn(properties, name, wire);
  }
  const { partitionKey, rowKey } = half;
  const merge: RowWrite = {
    kind: 'merge',
    row: { partitionKey, rowKey, properties },
    etag: half.etag,
  };
  return [merge, deletingWrite(part)];
}

export function deletingWrite({ row: { partitionKey, rowKey, etag } }: PendingPart): RowWrite {
  return { kind: 'delete', key: { partitionKey, rowKey }, etag };
}

function changedIn({ row }: PendingPart): RowProperties {
  return Object.fromEntries(
    Object.entries(row.properties).filter(([name]) => !ownProperties.has(name)),
  );
}

/** Of each changed property, in the order of their names; empty for one that the half lacks. */
function digestsOf(changed: RowProperties, half: RowProperties): readonly string[] {
  return Object.keys(changed)
    .toSorted()
    .map((name) => {
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
