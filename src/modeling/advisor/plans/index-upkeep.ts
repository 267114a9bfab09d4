import { shapeOf } from '../sizes/stored-shape.js';
import { exactly, mapEstimate, type Estimate } from './estimate.js';
import { indexedNames, spreadOfIndexed, textsOf, type RowSet, type RowSets } from './row-set.js';
import { listSize } from './list-size.js';
import { later, once, pointReads, accessOf, type Access } from './access.js';

/** A write of an entity, with the facts that its indexes need. */
export interface IndexedChange {
  readonly kind: 'insert' | 'change' | 'delete';
  /** Names of the changed properties; undefined: all except those that indexes are looked up by. */
  readonly changes: readonly string[] | undefined;
}

/** The requests and rows that the indexes of a definition add to one write of an entity. */
export interface IndexUpkeep {
  /** Rows that the transaction of the entity also writes: copies, lists, an intent. */
  readonly rowsBeside: number;
  /** Reads before the transaction: the former copies, and the lists that it changes. */
  readonly before: readonly Access[];
  /** The requests that the worker sends afterwards. */
  readonly after: readonly Access[];
}

/** How a row of an index follows a change of its entity. */
type Following = 'stays' | 'same-key' | 'other-key';

function following(rowSet: RowSet, rowSets: RowSets, { kind, changes }: IndexedChange): Following {
  const { index } = rowSet;
  if (kind !== 'change' || index === undefined) return 'same-key';
  if (changes === undefined) return index.kind === 'list' ? 'stays' : 'same-key';
  // Keys of entities never change, so only indexed properties move the rows of an index.
  const keys = indexedNames(index, rowSets.entities.definition);
  if (keys.some((name) => changes.includes(name))) return 'other-key';
  if (index.kind === 'list') return 'stays';
  const { stored } = shapeOf(rowSet.definition);
  return stored.some((name) => changes.includes(name)) ? 'same-key' : 'stays';
}

export function upkeepOf(rowSets: RowSets, change: IndexedChange): IndexUpkeep {
  const affected = rowSets.indexes.flatMap((rowSet) => {
    const how = following(rowSet, rowSets, change);
    return how === 'stays' ? [] : [{ rowSet, how, rows: rowsOf(rowSet, rowSets, how, change) }];
  });
  const beside = affected.filter(({ rowSet }) => rowSet.index?.place === 'same-partition');
  const elsewhere = affected.filter(({ rowSet }) => rowSet.index?.place !== 'same-partition');
  const lists = beside.filter(({ rowSet }) => rowSet.index?.kind === 'list');
  const copies = beside.filter(({ rowSet }) => rowSet.index?.kind === 'copy');
  const rows = beside.reduce((sum, each) => sum + each.rows, 0);
  return {
    rowsBeside: rows + (elsewhere.length === 0 ? 0 : 1),
    before: [
      ...(change.kind === 'insert'
        ? []
        : copies.map((each) => pointReads(each.rowSet, exactly(each.rows / keysOf(each.how))))),
      ...lists.map((each) => listReads(each.rowSet, rowSets, each.rows)),
    ],
    after: elsewhere.length === 0 ? [] : later(worker(rowSets, elsewhere, change)),
  };
}

/**
 * Rows that a change of one entity writes in an index: one, or the old and the new one, for each
 * text of its list. A change of the list itself counts as the replacement of one item.
 */
function rowsOf(
  { index }: RowSet,
  { entities, facts }: RowSets,
  how: Following,
  { kind, changes = [] }: IndexedChange,
): number {
  if (index === undefined) return 0;
  const moved = indexedNames(index, entities.definition).filter((name) => changes.includes(name));
  const isListAlone = kind === 'change' && moved.length === 1 && moved[0] === index.each?.list;
  return keysOf(how) * (isListAlone ? 1 : textsOf(index, facts));
}

/** Keys at which a row changes. */
function keysOf(how: Following): number {
  return how === 'other-key' ? 2 : 1;
}

/** One point read for each list, and one range read more when it is long. */
function listReads(rowSet: RowSet, rowSets: RowSets, lists: number): Access {
  return pointReads(
    rowSet,
    mapEstimate(listRequests(rowSet, rowSets), (each) => each * lists),
  );
}

/** Requests that reading a list takes: two when it has chunks. */
export function listRequests(rowSet: RowSet, rowSets: RowSets): Estimate {
  const entries = listEntries(rowSet, rowSets);
  return mapEstimate(entries, (count) =>
    rowSet.index?.kind === 'list' &&
    listSize(rowSet.index, rowSet, rowSets.entities, count).chunks > 0
      ? 2
      : 1,
  );
}

/** The number of entities in a list: of a typical value, and at worst of the most frequent one. */
export function listEntries(rowSet: RowSet, { entities, facts }: RowSets): Estimate {
  const { index } = rowSet;
  if (index === undefined) return exactly(0);
  const values = spreadOfIndexed(index, entities.definition, facts);
  const { greatest, typical } = entities.partitions;
  const texts = entities.rows * textsOf(index, facts);
  const isBeside = index.place === 'same-partition';
  const count = (share: number, partition: number): number =>
    Math.max(1, texts * share * (isBeside ? partition : 1));
  return {
    best: 1,
    expected: count(values?.typical ?? 0, typical),
    worst: count(values?.greatest ?? 0, greatest),
  };
}

/** The relay of an intent, and the worker that acts on it. */
function worker(
  rowSets: RowSets,
  affected: readonly { readonly rowSet: RowSet; readonly how: Following; readonly rows: number }[],
  { kind }: IndexedChange,
): readonly Access[] {
  const { entities } = rowSets;
  const rows = affected.flatMap(({ rowSet, how, rows: changed }): readonly Access[] => {
    const count = exactly(changed);
    const keys = exactly(changed / keysOf(how));
    const { index } = rowSet;
    if (index?.place === 'blob') return [accessOf(undefined, 'blob', exactly(2 * changed))];
    if (index?.kind === 'list') {
      const reads = mapEstimate(listRequests(rowSet, rowSets), (each) => each * changed);
      return [pointReads(rowSet, reads), accessOf(rowSet, 'transaction', count, { written: 1 })];
    }
    const write = kind === 'delete' ? 'delete' : kind === 'insert' ? 'insert' : 'update';
    return [
      pointReads(rowSet, count),
      accessOf(rowSet, how === 'other-key' ? 'insert' : write, keys, { written: 1 }),
      ...(how === 'other-key' ? [accessOf(rowSet, 'delete', keys, { written: 1 })] : []),
    ];
  });
  return [
    // The relay reads the intent with others, sends it and deletes it.
    accessOf(entities, 'range-read', { best: 0.001, expected: 1, worst: 1 }, { read: 1 }),
    accessOf(entities, 'delete', once, { written: 1 }),
    // The message is put, got with up to 31 others, and deleted.
    accessOf(undefined, 'queue', { best: 2 + 1 / 32, expected: 3, worst: 3 }),
    // The entity is read before and after.
    pointReads(entities, exactly(2)),
    ...rows,
  ];
}
