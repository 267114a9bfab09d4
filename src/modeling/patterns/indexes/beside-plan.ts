import { sameKey } from '../../rows/row-parts.js';
import { isOutdated } from '../../definition/row-version.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import type { RowWrite } from '../../table/gateway.js';
import { textOfKey, type ListChange } from '../index-entities/key-list.js';
import { planRowListChange } from '../index-entities/row-list.js';
import {
  isCopyEntry,
  primaryOf,
  sameEntry,
  type CopyEntry,
  type IndexEntry,
} from './index-entry.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedCopies, ResolvedIndex, ResolvedLists } from './with-indexes.js';
import { compareTexts } from '../../rows/text-order.js';

/** A write of a row of an index, for the transaction that changes the entity. */
export interface IndexWrite {
  readonly index: ResolvedIndex;
  readonly write: RowWrite;
  /** The stored copy, for an index of copies. */
  readonly entry?: CopyEntry;
}

/** The entry of an entity at a key of an index, before and after a change. */
export interface EntryChange {
  readonly index: ResolvedIndex;
  readonly before: IndexEntry | undefined;
  readonly after: IndexEntry | undefined;
}

/** The findings of earlier attempts about copies. */
export interface CopyFindings {
  /** By `nameOfCopy`, the ETags of rows at a new key of a copy that no entity needs. */
  readonly unowned: Map<string, string>;
}

/** Names a copy among all those of an entity. */
export function nameOfCopy({ name }: ResolvedIndex, key: RowKey): string {
  return `${name} ${textOfKey(key)}`;
}

/**
 * The changes of index entries that follow from a change of an entity, without those that change
 * nothing. Copies of an entity that was stored by an older version are written anew.
 */
export function entryChanges(
  places: IndexPlaces,
  before: StoredRow | undefined,
  after: StoredRow | undefined,
): readonly EntryChange[] {
  const had = places.entries(before);
  const has = places.entries(after);
  const isUpgrade = before !== undefined && isOutdated(places.entity, before);
  return places.indexes
    .flatMap((index) => changesByKey(index, had.get(index) ?? [], has.get(index) ?? []))
    .filter(
      ({ index, before: left, after: right }) =>
        !sameEntry(left, right) || (isUpgrade && index.kind === 'copy' && right !== undefined),
    );
}

/**
 * Removed and unchanged entries come first, so that one change can release a key that another one
 * takes.
 */
function changesByKey(
  index: ResolvedIndex,
  had: readonly IndexEntry[],
  has: readonly IndexEntry[],
): readonly EntryChange[] {
  const isAt =
    ({ key }: IndexEntry) =>
    (other: IndexEntry) =>
      sameKey(other.key, key);
  return [
    ...had.map((before) => ({ index, before, after: has.find(isAt(before)) })),
    ...has
      .filter((after) => !had.some(isAt(after)))
      .map((after) => ({ index, before: undefined, after })),
  ];
}

/**
 * The writes of an index of copies for the change of one entity. Reads the former copy: one point
 * read. A copy of another entity with the same value is never written over.
 */
export async function planCopies(
  places: IndexPlaces,
  primary: RowKey,
  { index, before, after }: EntryChange & { readonly index: ResolvedCopies },
  { unowned }: CopyFindings,
): Promise<readonly IndexWrite[]> {
  const stored = before === undefined ? undefined : await places.table.get(before.key);
  const owner = stored === undefined ? undefined : primaryOf(index, stored);
  const own = owner !== undefined && sameKey(owner, primary) ? stored : undefined;
  const stays = before !== undefined && after !== undefined && sameKey(before.key, after.key);
  const writes: IndexWrite[] = [];
  if (own !== undefined && !stays) {
    const { partitionKey, rowKey, etag } = own;
    writes.push({ index, write: { kind: 'delete', key: { partitionKey, rowKey }, etag } });
  }
  if (after === undefined || !isCopyEntry(after)) return writes;
  const { row } = after;
  const etag = unowned.get(nameOfCopy(index, row)) ?? (stays ? own?.etag : undefined);
  if (etag !== undefined) {
    return [...writes, { index, write: { kind: 'replace', row, etag }, entry: after }];
  }
  // An entity whose value was taken before this change stays out of the index.
  const isTaken = stays && stored !== undefined && (await isWanted(places, index, owner, row));
  if (isTaken) return writes;
  const write: RowWrite =
    stays && stored !== undefined
      ? { kind: 'replace', row, etag: stored.etag }
      : { kind: 'insert', row };
  return [...writes, { index, write, entry: after }];
}

/** Whether the copy at a key belongs to an entity with this value, or to an unknown one. */
export async function isWanted(
  places: IndexPlaces,
  index: ResolvedCopies,
  owner: RowKey | undefined,
  key: RowKey,
): Promise<boolean> {
  if (owner === undefined) return true;
  return places.entryAt(index, await places.primary(owner), key) !== undefined;
}

/** The writes of an index of lists for the changes of one entity or of several. */
export async function planLists(
  { table }: IndexPlaces,
  index: ResolvedLists,
  changes: readonly EntryChange[],
): Promise<readonly IndexWrite[]> {
  const lists = listChanges(
    changes.flatMap(({ before, after }) => [
      { entry: before, verb: 'remove' as const },
      { entry: after, verb: 'add' as const },
    ]),
  );
  const plans = await Promise.all(
    lists.map(({ key, change }) => planRowListChange(table, key, index.layout, change)),
  );
  return plans.flat().map((write) => ({ index, write }));
}

/** A change of the list at a key. */
export interface ListKeyChange {
  readonly key: RowKey;
  readonly change: ListChange;
}

interface ListDraft {
  readonly key: RowKey;
  readonly add: Set<string>;
  readonly remove: Set<string>;
}

/** The change of each list, in the order of their keys. A text that is added and removed stays. */
export function listChanges(
  entries: readonly {
    readonly entry: IndexEntry | undefined;
    readonly verb: 'add' | 'remove';
  }[],
): readonly ListKeyChange[] {
  const drafts = new Map<string, ListDraft>();
  for (const { entry, verb } of entries) {
    if (entry === undefined || isCopyEntry(entry)) continue;
    const name = textOfKey(entry.key);
    const draft = drafts.get(name) ?? { key: entry.key, add: new Set(), remove: new Set() };
    drafts.set(name, draft);
    draft[verb].add(entry.text);
  }
  return [...drafts]
    .sort(([left], [right]) => compareTexts(left, right))
    .map(([, { key, add, remove }]) => ({
      key,
      change: { add: [...add], remove: [...remove].filter((text) => !add.has(text)) },
    }));
}
