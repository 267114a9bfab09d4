import { nameOfKey } from '../../rows/row-parts.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { DefinitionError, ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { sameContent } from '../../rows/same-value.js';
import {
  isConflict,
  isOvertaken,
  OvertakenError,
  retryConflicts,
  updateAttemptsMax,
} from '../../table/contention.js';
import { TransactionFailedError } from '../../table/errors.js';
import { absentEntityError } from '../../table/refusals.js';
import { withEncryptedNames } from '../../table/encrypted-names.js';
import { writeInTransaction } from '../../table/failure-of-one.js';
import {
  keyOfWrite,
  type EncryptedNames,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import {
  shareRowUpdateQueues,
  rowUpdateQueuesOf,
  type PrecedingRows,
  type UpdateOutcome,
} from '../../table/row-update-queues.js';
import type { Outbox, OutboxMessage } from '../transactional-outbox/outbox.js';
import type {
  Derivation,
  DerivationPlan,
  DerivedChange,
  DerivedWrite,
  ReadRow,
} from './derivation.js';
import {
  afterAll,
  changedItem,
  conditionalOn,
  failureAt,
  itemsSeenBy,
  isSame,
  refusalOf,
  sourceChangesOf,
  withoutDeleted,
  type Item,
} from './planned-writes.js';
import { refuseTooLarge } from './refuse-too-large.js';
import { requireVersion } from './require-version.js';
import { rowAfter } from './row-after.js';
import { shareCounters } from './table-counters.js';

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

/** A derivation, and its plan for one transaction. */
interface Plan {
  readonly derivation: Derivation;
  readonly plan: DerivationPlan | undefined;
}

/** Rows of the table beneath, each read once. */
interface Reading {
  readonly row: ReadRow;
  /** The row, when it has been read; undefined otherwise. */
  readonly known: (key: RowKey) => Promise<StoredRow | undefined> | undefined;
}

/** A transaction to be sent, and the rows that were read for it. */
interface Planned {
  readonly items: readonly Item[];
  readonly derived: readonly DerivedWrite[];
  readonly messages: readonly OutboxMessage[];
  readonly read: Reading;
}

/** Changes that follow from changes that follow from changes, and so on. */
const depthMax = 8;

/**
 * A table that keeps data derived from its rows in step with them: indexes, copies, counters,
 * announcements. Each write through it, alone or in a transaction, changes the derived rows of the
 * partition in the same entity group transaction and stores messages for all other derived data.
 * Rows without a derivation pass unchanged, and reads are those of the table beneath.
 *
 * Requests, besides those of the table beneath: a point read for each concerned row that is written
 * and not inserted, unless the writer tells what it had read; the reads of the derivations. All is
 * repeated when a derived row, or the row of an unconditional write, has changed meanwhile, at most
 * 64 times; then `ContentionError`. Transactions of one process that change the same of these rows
 * go out in the order in which they had read them, each from what the one before it wrote.
 *
 * A transaction is refused with `TooLargeError` before any write is sent when, with all that
 * belongs to it, it has more writes than the table beneath takes or 4 MiB; `bulk` and `deleteWhere`
 * divide theirs. Each derived row of the partition that changes counts, twice when its key changes,
 * and so does each message. The error tells how many of the given writes fit.
 */
export class DerivingTable implements TableGateway {
  readonly table: string;
  readonly encrypts: EncryptedNames | undefined;
  readonly storesLargeValues: boolean | undefined;
  readonly writesMax: number | undefined;
  readonly confirm: TableGateway['confirm'];
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
    this.encrypts = base.encrypts;
    this.storesLargeValues = base.storesLargeValues;
    this.writesMax = base.writesMax;
    this.confirm = base.confirm?.bind(base);
    this.#base = base;
    this.#derivations = derivations;
    this.#outbox = outbox;
    this.#retries = { randomness, timers };
    shareRowUpdateQueues(this, base);
    shareCounters(this, base, derivations);
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
    const plans = this.#plans();
    const first = await this.#planned(writes, plans, this.#reading());
    if (!first.items.some(({ affectsDerived }) => affectsDerived)) {
      return (await this.#sent(writes, first)).result;
    }
    const own = ownRows(first);
    const within = writes.find(({ scope }) => scope !== undefined)?.scope;
    const under = rowsUnder(first.items);
    const plan = (known: readonly (StoredRow | undefined)[]): Promise<Planned> =>
      this.#planned(writes, plans, this.#reading(known));
    const queueing = { timers: this.#retries.timers, within };
    return rowUpdateQueuesOf(this.#base).run([...own.values()], queueing, (preceding) => {
      let next = async (): Promise<Planned> => {
        if (isAsRead(own, preceding)) return first;
        const planned = await plan([...preceding.values(), ...under]);
        // Another process may have written since; only a read shows that a row stays as it is.
        return isConditionalOn(planned, preceding) ? planned : plan(under);
      };
      const attempt = async (): Promise<UpdateOutcome<readonly WriteResult[]>> => {
        const planning = next();
        next = () => plan([]);
        return this.#sent(writes, await planning);
      };
      const retries = { ...this.#retries, attemptsMax: updateAttemptsMax };
      return retryConflicts(this.table, retries, attempt, isOvertaken);
    });
  }

  /** Reads as `transact` does. */
  async check(writes: readonly RowWrite[]): Promise<void> {
    refuseSpread(writes);
    const planned = await this.#planned(writes, this.#plans(), this.#reading());
    const sent = [...sentBy(planned), ...planned.messages.map(({ write }) => write)];
    refuseTooLarge(this.#base, writes.length, sent);
    await this.#base.check?.(sent);
  }

  #plans(): readonly Plan[] {
    return this.#derivations.map((derivation) => ({ derivation, plan: derivation.plan?.() }));
  }

  /** Plans the transaction of these writes from the present rows. */
  async #planned(
    writes: readonly RowWrite[],
    plans: readonly Plan[],
    read: Reading,
  ): Promise<Planned> {
    const given = await Promise.all(writes.map((write, place) => this.#itemOf(write, place, read)));
    const items = (await this.#changed(given, read.row)).map(this.#marked);
    const told = plans.flatMap(({ derivation, plan }) => {
      const changes = sourceChangesOf(derivation, itemsSeenBy(derivation, items));
      return plan === undefined || changes.length === 0 ? [] : [{ plan, changes }];
    });
    const found = await Promise.all(
      told.map(async ({ plan, changes }) => (await plan.writes?.(changes, read.row)) ?? []),
    );
    const messages = await Promise.all(
      told.map(async ({ plan, changes }) => (await plan.messages?.(changes)) ?? []),
    );
    const announced = await this.#announced(items);
    const derived = withoutDeleted(items, found.flat());
    return { items, derived, messages: [...messages.flat(), ...announced], read };
  }

  async #sent(
    writes: readonly RowWrite[],
    planned: Planned,
  ): Promise<UpdateOutcome<readonly WriteResult[]>> {
    const { items, derived } = planned;
    try {
      const results = await this.#send(writes.length, planned);
      return {
        result: writes.map((write, place) => resultOf(write, items[place], results[place])),
        written: await writtenRows(planned, results),
      };
    } catch (error) {
      throw await failureOf(error, items, derived, writes.length);
    }
  }

  async #itemOf(given: RowWrite, place: number, read: Reading): Promise<Item> {
    const { partitionKey, rowKey } = keyOfWrite(given);
    const key = { partitionKey, rowKey };
    const concerned = this.#derivations.filter((each) => each.concerns(key));
    const isMove = given.isMove === true;
    const unread = { item: place, key, write: given, isOwnCondition: false, isMove };
    if (concerned.length === 0) {
      return { ...unread, before: undefined, after: undefined, affectsDerived: false };
    }
    const before = given.kind === 'insert' ? undefined : await beforeOf(given, key, read);
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
        affectsDerived: true,
      };
    } catch (error) {
      throw failureAt(place, error);
    }
  }

  async #announced(items: readonly Item[]): Promise<readonly OutboxMessage[]> {
    const found = this.#derivations.map(async (each) => {
      const writes = itemsSeenBy(each, items).map(({ write }) => write);
      return each.announced?.(writes) ?? [];
    });
    return (await Promise.all(found)).flat();
  }

  /** Marks encrypted properties, so that derived rows with other keys are encrypted as well. */
  readonly #marked = (item: Item): Item =>
    item.after === undefined
      ? item
      : { ...item, after: withEncryptedNames(this.#base, item.after) };

  /** Reads of the table beneath; `known` are rows that need none. */
  #reading(known: readonly (StoredRow | undefined)[] = []): Reading {
    const reads = new Map<string, Promise<StoredRow | undefined>>();
    for (const row of known) {
      if (row !== undefined) reads.set(nameOfKey(row), Promise.resolve(row));
    }
    const row: ReadRow = (key) => {
      const read = reads.get(nameOfKey(key)) ?? this.#base.get(key);
      reads.set(nameOfKey(key), read);
      return read;
    };
    return { row, known: (key) => reads.get(nameOfKey(key)) };
  }

  /** The items with those that derivations change; again while changes lead to further ones. */
  async #changed(given: readonly Item[], read: ReadRow): Promise<readonly Item[]> {
    if (!given.some(({ affectsDerived }) => affectsDerived)) return given;
    let items = given;
    for (let depth = 0; depth < depthMax; depth += 1) {
      const asked = this.#derivations.map(async (each) => {
        const told = sourceChangesOf(each, items);
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
      const how = { isOwnCondition: true, affectsDerived: true, isMove: false };
      return [{ item, key, before, after, write, ...how }];
    });
    return [...items, ...(await Promise.all(others)).flat()];
  }

  async #send(given: number, planned: Planned): Promise<readonly WriteResult[]> {
    const { messages } = planned;
    const writes = sentBy(planned);
    const [only] = writes;
    const count = writes.length + messages.length;
    if (only !== undefined && count === 1) return [await this.#base.write(only)];
    refuseTooLarge(this.#base, given, [...writes, ...messages.map(({ write }) => write)]);
    if (messages.length === 0) return this.#base.transact(writes);
    if (this.#outbox !== undefined) return this.#outbox.transact(writes, messages);
    throw new DefinitionError(
      `${this.table}: what is derived in other partitions, tables or blobs needs an outbox`,
    );
  }
}

/** The row before a write: the writer's, if it has the version that the write demands. */
async function beforeOf(
  write: RowWrite,
  key: RowKey,
  read: Reading,
): Promise<StoredRow | undefined> {
  if ('etag' in write && write.before !== undefined && write.before.etag === write.etag) {
    return write.before;
  }
  return read.row(key);
}

/** A row that is changed as it was read, and the ETag that it had; undefined: there was none. */
interface OwnRow extends RowKey {
  readonly etag: string | undefined;
}

/**
 * The rows that the table writes under conditions of its own, by the names of their keys. When
 * another writer has changed one of them, the transaction is planned again.
 */
function ownRows({ items, derived }: Planned): ReadonlyMap<string, OwnRow> {
  const rows = new Map<string, OwnRow>();
  for (const { key, before, isOwnCondition } of items) {
    if (isOwnCondition) rows.set(nameOfKey(key), { ...key, etag: before?.etag });
  }
  for (const { write } of derived) {
    if ('etag' in write) {
      rows.set(nameOfKey(keyOfWrite(write)), { ...keyOfWrite(write), etag: write.etag });
    }
  }
  return rows;
}

/**
 * The row to which each condition of the caller applies; over another version of it the condition
 * fails. Undefined where the condition is the table's own.
 */
function rowsUnder(items: readonly Item[]): readonly (StoredRow | undefined)[] {
  return items.map(({ before, isOwnCondition }) => (isOwnCondition ? undefined : before));
}

/**
 * Whether the rows that the preceding transactions in the queues left have the ETags with which
 * this one was planned.
 */
function isAsRead(own: ReadonlyMap<string, OwnRow>, prior: PrecedingRows): boolean {
  return [...prior].every(([name, row]) => row !== undefined && row.etag === own.get(name)?.etag);
}

/** Whether a transaction fails when one of the preceding rows is no longer the stored one. */
function isConditionalOn({ items, derived }: Planned, preceding: PrecedingRows): boolean {
  const etags = new Map<string, string>();
  for (const { write } of [...items, ...derived]) {
    if ('etag' in write) etags.set(nameOfKey(keyOfWrite(write)), write.etag);
  }
  return [...preceding].every(([name, row]) => row === undefined || etags.get(name) === row.etag);
}

/** The rows that a transaction has written under conditions of its own, as they are now. */
async function writtenRows(
  { items, derived, read }: Planned,
  results: readonly WriteResult[],
): Promise<readonly StoredRow[]> {
  const written: StoredRow[] = [];
  for (const [place, { write, after, isOwnCondition }] of items.entries()) {
    const { etag, row } = results[place] ?? {};
    if (etag === undefined || after === undefined || !isOwnCondition) continue;
    if (write.kind === 'insert' || write.kind === 'replace') {
      written.push({ ...(row ?? write.row), etag, timestamp: 0n });
    } else written.push({ ...after, etag });
  }
  for (const [place, { write }] of derived.entries()) {
    const { etag } = results[items.length + place] ?? {};
    if (etag === undefined || write.kind === 'delete' || !('etag' in write)) continue;
    if (write.kind === 'replace') written.push({ ...write.row, etag, timestamp: 0n });
    else {
      const before = await read.known(write.row);
      if (before !== undefined) written.push({ ...before, ...rowAfter(before, write), etag });
    }
  }
  return written;
}

/** The result of a write, with the row when it differs from the one that the caller gave. */
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

/** The error of a failed attempt: an `OvertakenError` when another attempt may succeed. */
async function failureOf(
  error: unknown,
  items: readonly Item[],
  derived: readonly DerivedWrite[],
  given: number,
): Promise<unknown> {
  if (!isConflict(error)) return error;
  const at = error instanceof TransactionFailedError ? error.index : 0;
  // A service that does not name the failed operation leaves open whether a derived row was it.
  if (at === undefined) return (await refusalOf(derived)) ?? error;
  const item = items[at];
  const overtaken = new OvertakenError(error);
  if (item !== undefined) return at < given && !item.isOwnCondition ? error : overtaken;
  const failed = derived[at - items.length];
  return failed === undefined ? error : ((await refusalOf([failed])) ?? overtaken);
}

function refuseSpread(writes: readonly RowWrite[]): void {
  const partitions = new Set(writes.map((write) => keyOfWrite(write).partitionKey));
  if (partitions.size < 2) return;
  throw new ValueError(
    `a transaction belongs to one partition; this one has '${[...partitions].join("' and '")}'`,
  );
}

function sentBy({ items, derived }: Planned): readonly RowWrite[] {
  return [...items, ...derived].map(({ write }) => withoutHints(write));
}

/** Removes the hints that a write has only for this table. */
function withoutHints(write: RowWrite): RowWrite {
  const { scope: _, isMove: __, ...told } = write;
  if (!('before' in told)) return told;
  const { before: ___, ...sent } = told;
  return sent;
}
