import { ModelError, ValueError } from '../../rows/model-error.js';
import { nameOfKey, placeOfKey } from '../../rows/row-parts.js';
import type { StoredRow } from '../../rows/row.js';
import { sameContent } from '../../rows/same-value.js';
import { RequestError, TransactionFailedError } from '../../table/errors.js';
import { keyOfWrite, type RowWrite } from '../../table/gateway.js';
import type { Derivation, DerivedChange, DerivedWrite, RowChange } from './derivation.js';

/** A write to be sent, and the change that it makes. */
export interface Item extends RowChange {
  readonly write: RowWrite;
  /** Whether this table chose the condition of the write. Then a conflict makes the write again. */
  readonly isOwnCondition: boolean;
  /** Whether the row may be a source of a derivation, so that derived data may change. */
  readonly affectsDerived: boolean;
  /**
   * Whether it is a step of a move. Writes to other rows that follow from such a step are not
   * steps.
   */
  readonly isMove: boolean;
}

/**
 * The items that a derivation gets: without the steps of moves when it ignores them, and without
 * merges of nothing, such as those by which a transaction requires a row: they change no value.
 */
export function itemsSeenBy({ ignoresMoves = false }: Derivation, items: readonly Item[]) {
  return items.filter(({ isMove, write }) => !(ignoresMoves && isMove) && !isMergeOfNothing(write));
}

function isMergeOfNothing(write: RowWrite): boolean {
  return write.kind === 'merge' && Object.keys(write.row.properties).length === 0;
}

/** The changes of a derivation's source rows. */
export function sourceChangesOf(
  derivation: Derivation,
  items: readonly Item[],
): readonly RowChange[] {
  const source = (row: StoredRow | undefined): StoredRow | undefined =>
    row !== undefined && derivation.isSource(row) ? row : undefined;
  return items.flatMap(({ item, key, before, after, affectsDerived }) => {
    const [from, to] = [source(before), source(after)];
    if (!affectsDerived || (from === undefined && to === undefined)) return [];
    return [{ item, key, before: from, after: to }];
  });
}

/** A write of the caller to a row that its transaction also changes as derived data. */
export function changedItem(
  given: readonly Item[],
  item: Item,
  changes: readonly DerivedChange[],
): Item {
  const { write, before, after } = item;
  if (write.kind === 'delete') {
    // A caller that deletes the source of a derived row may delete that row as well.
    const kept = changes.find((each) => given[each.item]?.write.kind !== 'delete');
    if (kept === undefined) return item;
    throw refusal(kept.item, `the transaction deletes ${placeOfKey(item.key)}, which it changes`);
  }
  const row = afterAll(after, changes);
  if (row === undefined || row === after) return item;
  const isNew = write.kind === 'insert' || before === undefined;
  const changed: RowWrite = isNew
    ? { kind: 'insert', row }
    : { kind: 'replace', row, etag: 'etag' in write ? write.etag : before.etag };
  return { ...item, write: changed, after: row, affectsDerived: true };
}

/**
 * The row after all changes. A change that does nothing to an absent row is applied again when
 * another change has created the row.
 */
export function afterAll(
  before: StoredRow | undefined,
  changes: readonly DerivedChange[],
): StoredRow | undefined {
  const waiting: DerivedChange[] = [];
  let current = before;
  for (const each of changes) {
    const after = afterOne(current, each);
    if (after === undefined) waiting.push(each);
    current = after;
  }
  return current === undefined ? undefined : waiting.reduce(afterOne, current);
}

function afterOne<R extends StoredRow | undefined>(
  current: R,
  { item, change }: DerivedChange,
): StoredRow | R {
  try {
    const row = change(current);
    return row === undefined ? current : { ...row, etag: '', timestamp: 0n };
  } catch (error) {
    throw failureAt(item, error);
  }
}

/** The refusal of a derived write, as the failure of the write that it follows from. */
export function failureAt(item: number, error: unknown): unknown {
  if (!(error instanceof ModelError)) return error;
  return new TransactionFailedError(error.message, item, error);
}

/** Why a repetition cannot write these derived rows, as far as they know; otherwise undefined. */
export async function refusalOf(derived: readonly DerivedWrite[]): Promise<unknown> {
  for (const { item, onConflict } of derived) {
    try {
      await onConflict?.();
    } catch (reason) {
      if (!(reason instanceof ModelError) || reason instanceof RequestError) return reason;
      return new TransactionFailedError(reason.message, item, reason);
    }
  }
  return undefined;
}

export function isSame(left: readonly Item[], right: readonly Item[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ key, after }, index) => {
      const other = right[index];
      if (other === undefined || nameOfKey(other.key) !== nameOfKey(key)) return false;
      if (after === undefined || other.after === undefined) return after === other.after;
      return sameContent(after, other.after);
    })
  );
}

/**
 * The derived writes without those to rows that the caller deletes, such as with all rows of a
 * partition. Throws when the caller writes a derived row otherwise.
 */
export function withoutDeleted(
  items: readonly Item[],
  derived: readonly DerivedWrite[],
): readonly DerivedWrite[] {
  const given = new Map(items.map(({ key, write }) => [nameOfKey(key), write]));
  return derived.filter(({ item, write }) => {
    const own = given.get(nameOfKey(keyOfWrite(write)));
    if (own === undefined) return true;
    if (own.kind === 'delete') return false;
    throw refusal(
      item,
      `the transaction writes ${placeOfKey(keyOfWrite(write))}, which is derived`,
    );
  });
}

/** The same write, valid only for the row as it was read. */
export function conditionalOn(write: RowWrite, row: StoredRow | undefined): RowWrite {
  if (row === undefined)
    return write.kind === 'delete' ? write : { kind: 'insert', row: write.row };
  const { etag } = row;
  if (write.kind === 'delete') return { ...write, etag };
  const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
  return { kind: isMerge ? 'merge' : 'replace', row: write.row, etag };
}

function refusal(item: number, text: string): TransactionFailedError {
  return new TransactionFailedError(text, item, new ValueError(text));
}
