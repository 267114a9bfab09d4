import { sameKey } from '../../rows/row-parts.js';
import { own } from '../../../base/own.js';
import { equalBytes } from '../../../base/bytes.js';
import { codecOf } from '../../definition/codec.js';
import { keyNamesOf } from '../../definition/entity-definition.js';
import { formatKey } from '../../definition/key-template.js';
import { storedAs, storedAsOf, type StoredAs } from '../../definition/stored-entity.js';
import { ValueError } from '../../rows/model-error.js';
import { keyUnitsMax } from '../../rows/row-size.js';
import type { Row, RowKey, RowProperties, StoredRow, WireValue } from '../../rows/row.js';
import { textOfKey } from '../index-entities/key-list.js';
import { chunkKeyUnits } from '../index-entities/row-list.js';
import type { ResolvedCopies, ResolvedIndex, ResolvedLists } from './with-indexes.js';

/** The row of an entity in an index of copies. */
export interface CopyEntry {
  readonly index: ResolvedCopies;
  readonly key: RowKey;
  readonly row: Row;
}

/** The text of an entity in an index of lists. */
export interface ListEntry {
  readonly index: ResolvedLists;
  /** The key of the list's head. For a blob, its name is the RowKey. */
  readonly key: RowKey;
  readonly text: string;
}

export type IndexEntry = CopyEntry | ListEntry;

export function isCopyEntry(entry: IndexEntry): entry is CopyEntry {
  return entry.index.kind === 'copy';
}

type Values = Readonly<Record<string | symbol, unknown>>;

/**
 * The entries of an entity in an index, at different keys: one, or one for each item of its list;
 * none when the entity is not in it. `entity` has the values of all properties, `primary` is its
 * row, whose encrypted properties stay encrypted in copies. Throws `ValueError` for a value that
 * does not fit into the key.
 */
export function entriesOf(
  index: ResolvedIndex,
  entity: object,
  primary: Row,
): readonly IndexEntry[] {
  const values = entity as Values;
  // Only absent values exclude an entity: 0, '' and false are values.
  const isAbsent = index.needed.some((name) => values[name] === undefined || values[name] === null);
  if (isAbsent || index.when?.(entity as never) === false) return [];
  const { each } = index;
  if (each === undefined) return [entryOf(index, values, primary)];
  const items = values[each.list];
  if (!Array.isArray(items)) return [];
  return [...new Set<unknown>(items)].map((item) =>
    entryOf(index, { ...values, [each.item]: item }, primary),
  );
}

function entryOf(index: ResolvedIndex, values: Values, primary: Row): IndexEntry {
  const { partitionKey, rowKey } = index.definition;
  const key = {
    partitionKey: formatKey(partitionKey, values),
    rowKey: formatKey(rowKey, values),
  };
  if (index.kind === 'list') return { index, ...listEntry(index, key, primary) };
  const row = index.codec.toRow(copied(index, values, primary));
  return { index, key, row };
}

function listEntry(
  { name, place }: ResolvedLists,
  key: RowKey,
  primary: RowKey,
): Pick<ListEntry, 'key' | 'text'> {
  const unitsMax = keyUnitsMax - chunkKeyUnits;
  if (place !== 'blob' && key.rowKey.length > unitsMax) {
    throw new ValueError(
      `${name}: the RowKey of an index entity has at most ${unitsMax} UTF-16 code units, ` +
        'so that its list can go on in further rows',
    );
  }
  return { key, text: textIn({ place }, primary) };
}

/** How the lists of an index name an entity. */
export function textIn({ place }: Pick<ResolvedLists, 'place'>, primary: RowKey): string {
  return place === 'same-partition' ? primary.rowKey : textOfKey(primary);
}

/**
 * The values with the exact ticks of their dates and the names that are encrypted, without the
 * other metadata of the entity's row.
 */
function copied({ definition }: ResolvedIndex, values: Values, { encrypt = [] }: Row): Values {
  const copy: Record<string | symbol, unknown> = {};
  for (const name of Object.keys(definition.properties)) copy[name] = values[name];
  const before: StoredAs | undefined = storedAsOf(values);
  if (before !== undefined) {
    copy[storedAs] = { ...before, unknown: {}, encrypted: encrypt, isPartial: false };
  }
  return copy;
}

/** Whether two entries of one index, for the same entity, are equal. */
export function sameEntry(left: IndexEntry | undefined, right: IndexEntry | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  if (!sameKey(left.key, right.key)) return false;
  if (isCopyEntry(left) && isCopyEntry(right)) {
    return differences(left.row.properties, right.row.properties).length === 0;
  }
  return true;
}

/**
 * The names of properties in which a stored index row differs from the entry, including those that
 * it stores in plain although they should be encrypted. Properties that the index does not know are
 * ignored.
 */
export function staleNames({ row, index }: CopyEntry, stored: StoredRow): readonly string[] {
  const known = index.codec.selectOf(Object.keys(index.definition.properties)) ?? [];
  const stale = differences(row.properties, stored.properties).filter(
    (name) => own(row.properties, name) !== undefined || known.includes(name),
  );
  const plain = (row.encrypt ?? []).filter((name) => stored.encrypt?.includes(name) !== true);
  return [...new Set([...stale, ...plain])];
}

function differences(left: RowProperties, right: RowProperties): readonly string[] {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].filter((name) => !sameValue(own(left, name), own(right, name)));
}

function sameValue(left: WireValue | undefined, right: WireValue | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  if (left.type === 'Binary' && right.type === 'Binary') {
    return equalBytes(left.value, right.value);
  }
  return left.type === right.type && Object.is(left.value, right.value);
}

/** The keys of the entity of a row in an index of copies. Undefined for a row of another index. */
export function primaryOf({ codec, entity }: ResolvedCopies, row: StoredRow): RowKey | undefined {
  if (!codec.matches(row)) return undefined;
  // Reads only the keys, which no version changes: an older copy may lack other properties.
  const { system, version } = codec.definition;
  const properties = {
    ...row.properties,
    [system.version]: { type: 'Int32', value: version },
  } as const;
  const values = codec.fromPartialRow({ ...row, properties }, [...keyNamesOf(entity)]);
  return codecOf(entity).key(values);
}
