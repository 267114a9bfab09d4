import { nameOfKey, placeOfKey } from '../../rows/row-parts.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { DefinitionError, ModelError, TooLargeError, ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { sameContent } from '../../rows/same-value.js';
import { isConflict, retryConflicts, updateAttemptsMax } from '../../table/contention.js';
import { RequestError, TransactionFailedError } from '../../table/errors.js';
import { absentEntityError } from '../../table/refusals.js';
import { writeInTransaction } from '../../table/failure-of-one.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import {
  transactionBytes,
  transactionBytesBound,
  transactionBytesMax,
} from '../../table/request-size.js';
import type { Outbox, OutboxMessage } from '../transactional-outbox/outbox.js';
import type { Derivation, DerivedChange, DerivedWrite, ReadRow, RowChange } from './derivation.js';
import { requireVersion } from './require-version.js';
import { rowAfter } from './row-after.js';

/** The parts of an `Outbox` that are used here. */
export type DerivingOutbox = Pick<Outbox, 'table' | 'message' | 'transact'>;

/** Sources of randomness and time, and the outbox of the table. */
export interface DerivingOptions {
  /** Needed where something is derived that is not in the partition of its source. */
  readonly outbox?: DerivingOutbox | undefined;
  /** For waits after conflicts; the system's when absent. */
  readonly randomness?: Randomness;
  /** The system's when absent. */
  readonly timers?: Timers;
}

/** A write to be sent, and the change that it makes. */
interface Item extends RowChange {
  readonly write: RowWrite;
  /** Whether its condition is that of this table: after a conflict it is made anew. */
  readonly isOwnCondition: boolean;
  /** Whether a derivation has to know of it. */
  readonly isConcerned: boolean;
}

/** A conflict at a row that the table wrote by itself, or under a condition of its own. */
class OvertakenError extends ModelError {
  override readonly name = 'OvertakenError';
}

/** Changes that follow from changes that follow from changes, and so on. */
const depthMax = 8;

/**
 * A table that keeps what is derived from its rows in step with them: indexes, copies, counters,
 * announcements. Whoever writes through it, alone or in a transaction, changes the derived rows of
 * the partition in the same entity group transaction and leaves messages for everything else.
 * Rows that no derivation concerns pass unchanged, and reads are those of the table beneath.
 *
 * Requests, besides those of the table beneath: a point read for each concerned row that is written
 * and not inserted, unless the writer tells what it had read; the reads of the derivations. All is
 * repeated when a derived row, or the row of an unconditional write, has changed meanwhile, at most
 * 64 times; then `ContentionError`.
 *
 * A transaction that with all that belongs to it is more than 100 writes or 4 MiB is refused with
 * `TooLargeError` before it is sent; `bulk` and `deleteWhere` divide theirs.
 */
export class DerivingTable implements TableGateway {
  readonly table: string;
  readonly #base: TableGateway;
  readonly #derivations: readonly Derivation[];
  readonly #outbox: DerivingOutbox | undefined;
  readonly #retries: { readonly randomness: Randomness; readonly timers: Timers };

  constructor(
    base: TableGateway,
    derivations: readonly Derivation[],
    { outbox, randomness = systemRandomness, timers = holdingTimers }: DerivingOptions = {},
  ) {
    this.table = base.table;
    this.#base = base;
    this.#derivations = derivations;
    this.#outbox = outbox;
    this.#retries = { randomness, timers };
  }

  get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#base.get(key, select);
  }

  page(query: RowQuery): Promise<RowPage> {
    return this.#base.page(query);
  }

  write(write: RowWrite): Promise<WriteResult> {
    return writeInTransaction(this, write);
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    refuseSpread(writes);
    const plans = this.#derivations.map((derivation) => ({
      derivation,
      plan: derivation.plan?.(),
    }));
    const attempt = async (): Promise<readonly WriteResult[]> => {
      const read = this.#readingOnce();
      const items = await this.#changed(await Promise.all(writes.map(this.#itemOf)), read);
      const planned = plans.map(({ derivation, plan }) => ({
        plan,
        changes: toldTo(derivation, items),
      }));
      const found = await Promise.all(
        planned.map(async ({ plan, changes }) =>
          changes.length === 0 ? [] : ((await plan?.writes?.(changes, read)) ?? []),
        ),
      );
      const messages = await Promise.all(
        planned.map(async ({ plan, changes }) =>
          changes.length === 0 ? [] : ((await plan?.messages?.(changes)) ?? []),
        ),
      );
      const derived = withoutDeleted(items, found.flat());
      try {
        const results = await this.#send(items, derived, messages.flat());
        return writes.map((write, place) => resultOf(write, items[place], results[place]));
      } catch (error) {
        throw await failureOf(error, items, derived, writes.length);
      }
    };
    const retries = { ...this.#retries, attemptsMax: updateAttemptsMax };
    return retryConflicts(this.table, retries, attempt, (error) => error instanceof OvertakenError);
  }

  readonly #itemOf = async (given: RowWrite, place: number): Promise<Item> => {
    const { partitionKey, rowKey } = keyOfWrite(given);
    const key = { partitionKey, rowKey };
    const concerned = this.#derivations.filter((each) => each.concerns(key));
    const unread = { item: place, key, write: given, isOwnCondition: false };
    if (concerned.length === 0) {
      return { ...unread, before: undefined, after: undefined, isConcerned: false };
    }
    const before = given.kind === 'insert' ? undefined : await this.#before(given, key);
    try {
      // Refused here, because by the time of the request there may be a row from which others are
      // derived.
      if ('etag' in given) {
        if (before === undefined) throw absentEntityError(this.table, key);
        requireVersion(before, given.etag);
      }
      const write = concerned.reduce((each, by) => by.guarded?.(each, before) ?? each, given);
      const isConditional = given.kind === 'insert' || ('etag' in given && given.etag !== '*');
      return {
        ...unread,
        write: isConditional ? write : conditionalOn(write, before),
        isOwnCondition: !isConditional,
        before,
        after: rowAfter(before, write),
        isConcerned: true,
      };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      throw new TransactionFailedError(error.message, place, error);
    }
  };

  #readingOnce(): ReadRow {
    const reads = new Map<string, Promise<StoredRow | undefined>>();
    return (key) => {
      const read = reads.get(nameOfKey(key)) ?? this.#base.get(key);
      reads.set(nameOfKey(key), read);
      return read;
    };
  }

  #before(write: RowWrite, key: RowKey): Promise<StoredRow | undefined> {
    const known = 'etag' in write && write.before?.etag === write.etag ? write.before : undefined;
    return known === undefined ? this.#base.get(key) : Promise.resolve(known);
  }

  /** The items with those that derivations change; again while changes lead to further ones. */
  async #changed(given: readonly Item[], read: ReadRow): Promise<readonly Item[]> {
    if (!given.some(({ isConcerned }) => isConcerned)) return given;
    let items = given;
    for (let depth = 0; depth < depthMax; depth += 1) {
      const asked = this.#derivations.map(async (each) => {
        const told = toldTo(each, items);
        return told.length === 0 ? [] : ((await each.changes?.(told, read)) ?? []);
      });
      const found = (await Promise.all(asked)).flat();
      const next = await this.#applied(given, found, read);
      if (isSame(items, next)) return next;
      items = next;
    }
    throw new DefinitionError(`${this.table}: derived rows depend on each other in a circle`);
  }

  /** The given items, changed, and one more for each other row that changes. */
  async #applied(
    given: readonly Item[],
    changes: readonly DerivedChange[],
    read: ReadRow,
  ): Promise<readonly Item[]> {
    const byName = new Map<string, DerivedChange[]>();
    for (const change of changes) {
      const name = nameOfKey(change.key);
      byName.set(name, [...(byName.get(name) ?? []), change]);
    }
    const items = given.map((item) => {
      const own = byName.get(nameOfKey(item.key)) ?? [];
      byName.delete(nameOfKey(item.key));
      return own.length === 0 ? item : changedItem(given, item, own);
    });
    const others = [...byName.values()].map(async (own): Promise<readonly Item[]> => {
      const [first] = own;
      if (first === undefined) return [];
      const before = await read(first.key);
      const after = afterAll(before, own);
      if (after === undefined || (before !== undefined && sameContent(before, after))) return [];
      const write: RowWrite =
        before === undefined
          ? { kind: 'insert', row: after }
          : { kind: 'replace', row: after, etag: before.etag };
      const { item, key } = first;
      return [{ item, key, before, after, write, isOwnCondition: true, isConcerned: true }];
    });
    return [...items, ...(await Promise.all(others)).flat()];
  }

  async #send(
    items: readonly Item[],
    derived: readonly DerivedWrite[],
    messages: readonly OutboxMessage[],
  ): Promise<readonly WriteResult[]> {
    const writes = [...items, ...derived].map(({ write }) => withoutBefore(write));
    const [only] = writes;
    const count = writes.length + messages.length;
    if (only !== undefined && count === 1) return [await this.#base.write(only)];
    refuseTooLarge(this.table, [...writes, ...messages.map(({ write }) => write)]);
    if (messages.length === 0) return this.#base.transact(writes);
    if (this.#outbox !== undefined) return this.#outbox.transact(writes, messages);
    throw new DefinitionError(
      `${this.table}: what is derived in other partitions, tables or blobs needs an outbox`,
    );
  }
}

/** With the row, when it is not the one that the caller gave. */
function resultOf(
  given: RowWrite,
  item: Item | undefined,
  { etag }: WriteResult = { etag: undefined },
): WriteResult {
  const write = item?.write;
  const isOther =
    given.kind !== 'delete' &&
    write?.kind !== 'delete' &&
    write?.row !== undefined &&
    write.row !== given.row;
  return isOther ? { etag, row: write.row } : { etag };
}

/** The changes of the rows that a derivation is made of. */
function toldTo(derivation: Derivation, items: readonly Item[]): readonly RowChange[] {
  const source = (row: StoredRow | undefined): StoredRow | undefined =>
    row !== undefined && derivation.isSource(row) ? row : undefined;
  return items.flatMap(({ item, key, before, after, isConcerned }) => {
    const [from, to] = [source(before), source(after)];
    if (!isConcerned || (from === undefined && to === undefined)) return [];
    return [{ item, key, before: from, after: to }];
  });
}

/** A write of the caller to a row that its transaction also changes as derived data. */
function changedItem(given: readonly Item[], item: Item, changes: readonly DerivedChange[]): Item {
  const { write, before, after } = item;
  if (write.kind === 'delete') {
    // Who deletes what a row is derived from may delete the row as well.
    const kept = changes.find((each) => given[each.item]?.write.kind !== 'delete');
    if (kept === undefined) return item;
    throw refusal(kept.item, `the transaction deletes ${placeOfKey(item.key)}, which it changes`);
  }
  const row = afterAll(after, changes);
  if (row === undefined) return item;
  const isNew = write.kind === 'insert' || before === undefined;
  const changed: RowWrite = isNew
    ? { kind: 'insert', row }
    : { kind: 'replace', row, etag: 'etag' in write ? write.etag : before.etag };
  return { ...item, write: changed, after: row, isConcerned: true };
}

/**
 * The row after all changes. Those that leave an absent row as it is come again when others have
 * made one.
 */
function afterAll(
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
    if (!(error instanceof ModelError)) throw error;
    throw new TransactionFailedError(error.message, item, error);
  }
}

function isSame(left: readonly Item[], right: readonly Item[]): boolean {
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
 * The derived rows without those that the caller deletes: who deletes all rows of a partition
 * deletes these as well. Throws when the caller writes one.
 */
function withoutDeleted(
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

/** What a failed attempt means: an `OvertakenError` when another one may succeed. */
async function failureOf(
  error: unknown,
  items: readonly Item[],
  derived: readonly DerivedWrite[],
  given: number,
): Promise<unknown> {
  if (!isConflict(error)) return error;
  const at = error instanceof TransactionFailedError ? error.index : 0;
  if (at === undefined) return error;
  const item = items[at];
  const overtaken = new OvertakenError('another writer was faster', { cause: error });
  if (item !== undefined) return at < given && !item.isOwnCondition ? error : overtaken;
  const failed = derived[at - items.length];
  if (failed === undefined) return error;
  try {
    await failed.onConflict?.();
    return overtaken;
  } catch (reason) {
    if (!(reason instanceof ModelError) || reason instanceof RequestError) return reason;
    return new TransactionFailedError(reason.message, failed.item, reason);
  }
}

function refusal(item: number, text: string): TransactionFailedError {
  return new TransactionFailedError(text, item, new ValueError(text));
}

function refuseSpread(writes: readonly RowWrite[]): void {
  const partitions = new Set(writes.map((write) => keyOfWrite(write).partitionKey));
  if (partitions.size < 2) return;
  throw new ValueError(
    `a transaction belongs to one partition; this one has '${[...partitions].join("' and '")}'`,
  );
}

function refuseTooLarge(table: string, writes: readonly RowWrite[]): void {
  if (writes.length > transactionWritesMax) {
    throw new TooLargeError(
      `${table}: with what is derived from them, the writes are ${writes.length}; ` +
        `a transaction holds ${transactionWritesMax}. Write less at a time, or keep an index with ` +
        'many rows an entity in another partition or table',
    );
  }
  if (transactionBytesBound(writes) <= transactionBytesMax) return;
  const bytes = transactionBytes(writes);
  if (bytes <= transactionBytesMax) return;
  throw new TooLargeError(
    `${table}: with what is derived from them, the writes take about ${bytes} bytes; ` +
      'a transaction has less than 4 MiB',
  );
}

/** The same write, valid only for the row as it was read. */
function conditionalOn(write: RowWrite, row: StoredRow | undefined): RowWrite {
  if (row === undefined)
    return write.kind === 'delete' ? write : { kind: 'insert', row: write.row };
  const { etag } = row;
  if (write.kind === 'delete') return { ...write, etag };
  const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
  return { kind: isMerge ? 'merge' : 'replace', row: write.row, etag };
}

function withoutBefore(write: RowWrite): RowWrite {
  if (!('before' in write)) return write;
  const { before: _, ...sent } = write;
  return sent;
}
