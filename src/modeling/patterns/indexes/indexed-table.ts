import { backOff } from '../../../base/async/back-off.js';
import { sleep } from '../../../base/async/sleep.js';
import { TooLargeError, ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { isConflict, updateAttemptsMax } from '../../table/contention.js';
import {
  absentEntityError,
  ContentionError,
  RequestError,
  TransactionFailedError,
} from '../../table/errors.js';
import { failureOfOne } from '../../table/failure-of-one.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import type { OutboxMessage } from '../transactional-outbox/outbox.js';
import {
  entryChanges,
  isWanted,
  planCopies,
  planLists,
  type CopyFindings,
  type EntryChange,
  type IndexWrite,
} from './beside-plan.js';
import { primaryOf, sameKey } from './index-entry.js';
import { IndexValueTakenError } from './index-errors.js';
import { intentOf } from './index-outbox.js';
import type { IndexPlaces } from './index-places.js';
import type { IndexWriterOptions } from './index-writer.js';
import { rowAfter } from './row-after.js';
import { requireVersion } from './write-refusals.js';

/** A write of the caller, as it is sent, and what follows from it. */
interface Item {
  readonly write: RowWrite;
  /** Whether its condition is that of this table: after a conflict it is made anew. */
  readonly isOwnCondition: boolean;
  readonly changes: readonly EntryChange[];
  readonly findings: CopyFindings;
}

/** A write of a row of an index, and the place of the caller's write that needs it. */
interface Upkeep extends IndexWrite {
  readonly item: number;
}

const contention = { first: 4, last: 250 };

/**
 * The table of a definition with its indexes: whoever writes through it, alone or in a transaction,
 * changes the indexes with the entities. Rows of other types pass unchanged.
 *
 * Requests, besides those of the table beneath it: for each write of an entity other than an
 * insert a point read of the entity; for each copy and list in its partition that changes a point
 * read; the index rows, and an intent for indexes elsewhere, in the transaction of the write. All
 * is repeated when an unconditional write meets another writer. Reads are those of the table.
 *
 * A transaction whose index rows do not fit into one throws `TooLargeError`; `bulk` divides it. A
 * write whose value another entity has fails with `IndexValueTakenError`.
 */
export class IndexedTable implements TableGateway {
  readonly table: string;
  readonly #places: IndexPlaces;
  readonly #options: IndexWriterOptions;

  constructor(places: IndexPlaces, options: IndexWriterOptions) {
    this.table = places.table.table;
    this.#places = places;
    this.#options = options;
  }

  get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#places.table.get(key, select);
  }

  page(query: RowQuery): Promise<RowPage> {
    return this.#places.table.page(query);
  }

  async write(write: RowWrite): Promise<WriteResult> {
    try {
      const [result] = await this.#apply([write]);
      return result ?? { etag: undefined };
    } catch (error) {
      throw failureOfOne(error);
    }
  }

  transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    return this.#apply(writes);
  }

  async #apply(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const findings = writes.map((): CopyFindings => ({ unowned: new Map() }));
    let refusal: unknown;
    for (let count = 1; count <= updateAttemptsMax; count++) {
      if (count > 1) await this.#pause(count - 1);
      const items = await Promise.all(
        writes.map((write, index) =>
          this.#itemOf(write, index, findings[index] ?? { unowned: new Map() }),
        ),
      );
      const upkeep = await this.#upkeepOf(items);
      try {
        return await this.#send(items, upkeep);
      } catch (error) {
        refusal = error;
        await this.#recordFailure(error, items, upkeep);
      }
    }
    throw new ContentionError(
      `${this.#places.entity.type}: other writers were faster at all of ${updateAttemptsMax} attempts`,
      { cause: refusal },
    );
  }

  async #itemOf(write: RowWrite, index: number, findings: CopyFindings): Promise<Item> {
    const { codec, table, entity } = this.#places;
    const { partitionKey, rowKey } = keyOfWrite(write);
    const unchanged: Item = { write, isOwnCondition: false, changes: [], findings };
    const properties = write.kind === 'delete' ? {} : write.row.properties;
    if (!codec.matches({ partitionKey, rowKey, properties })) return unchanged;
    if (write.kind === 'insert') return this.#changing(unchanged, undefined);
    const row = await table.get({ partitionKey, rowKey });
    if (row !== undefined && !codec.matches(row)) return unchanged;
    if ('etag' in write) {
      // Refused here, because by the time of the request there may be an entity with index rows.
      try {
        if (row === undefined) throw absentEntityError(entity.type, { partitionKey, rowKey });
        requireVersion(entity.type, row, write.etag);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        throw new TransactionFailedError(error.message, index, error);
      }
      if (write.etag !== '*') return this.#changing(unchanged, row);
    }
    const conditional = { ...unchanged, write: conditionalOn(write, row), isOwnCondition: true };
    return this.#changing(conditional, row);
  }

  #changing(item: Item, row: StoredRow | undefined): Item {
    return { ...item, changes: entryChanges(this.#places, row, rowAfter(row, item.write)) };
  }

  async #upkeepOf(items: readonly Item[]): Promise<readonly Upkeep[]> {
    const copies = items.map(async ({ write, changes, findings }, item) => {
      const plans = changes.map(async ({ index, before, after }) =>
        index.kind === 'copy' && index.place === 'same-partition'
          ? planCopies(this.#places, keyOf(write), { index, before, after }, findings)
          : [],
      );
      return (await Promise.all(plans)).flat().map((each) => upkeepOf(each, item));
    });
    const lists = this.#places.beside.map(async (index) => {
      if (index.kind !== 'list') return [];
      const concerned = items.flatMap((each, item) =>
        each.changes.filter((change) => change.index === index).map((change) => ({ change, item })),
      );
      const changes = concerned.map(({ change }) => change);
      const plan = await planLists(this.#places, index, changes);
      return plan.map((each) => upkeepOf(each, concerned[0]?.item ?? 0));
    });
    const [planned, listed] = await Promise.all([Promise.all(copies), Promise.all(lists)]);
    const given = new Map(items.map(({ write }) => [nameOf(keyOf(write)), write]));
    return [...eachRowOnce(planned.flat()), ...listed.flat()].filter(({ write }) => {
      const own = given.get(nameOf(keyOf(write)));
      if (own === undefined) return true;
      // Who deletes all rows of a partition deletes those of indexes as well.
      if (own.kind === 'delete') return false;
      throw new ValueError(
        `${this.#places.entity.type}: the transaction writes a row of an index, which its table does`,
      );
    });
  }

  async #send(items: readonly Item[], upkeep: readonly Upkeep[]): Promise<readonly WriteResult[]> {
    const { table } = this.#places;
    const intents: OutboxMessage[] = [];
    for (const { write, changes } of items) {
      const intent = await intentOf(this.#options, keyOf(write), changes);
      if (intent !== undefined) intents.push(intent);
    }
    const writes = [...items, ...upkeep].map(({ write }) => write);
    const count = writes.length + intents.length;
    if (items.length > 1 && count > transactionWritesMax) {
      throw new TooLargeError(
        `${items.length} writes of ${this.#places.entity.type} take ${count} with their index rows`,
      );
    }
    const [only] = writes;
    const results =
      intents.length > 0
        ? await this.#options.outbox?.transact(writes, intents)
        : only !== undefined && writes.length === 1
          ? [await table.write(only)]
          : await table.transact(writes);
    return (results ?? []).slice(0, items.length);
  }

  /** Throws errors that a retry cannot fix, and records the others for the next attempt. */
  async #recordFailure(
    error: unknown,
    items: readonly Item[],
    upkeep: readonly Upkeep[],
  ): Promise<void> {
    if (!isConflict(error)) throw error;
    const at = error instanceof TransactionFailedError ? error.index : 0;
    const item = at === undefined ? undefined : items[at];
    if (item?.isOwnCondition === true) return;
    const failed = at === undefined ? undefined : upkeep[at - items.length];
    if (failed === undefined) throw error;
    const findings = items[failed.item]?.findings.unowned;
    const { index, entry, write } = failed;
    if (write.kind === 'replace') findings?.delete(index.name);
    if (write.kind !== 'insert' || entry === undefined) return;
    const taken = await this.#places.table.get(entry.key);
    if (taken === undefined) return;
    const owner = primaryOf(entry.index, taken);
    const primary = keyOf(items[failed.item]?.write ?? write);
    const isOwn = owner !== undefined && sameKey(owner, primary);
    if (!isOwn && (await isWanted(this.#places, entry.index, owner, entry.key))) {
      const reason = new IndexValueTakenError(index.name, entry.key);
      throw new TransactionFailedError(reason.message, failed.item, reason);
    }
    findings?.set(index.name, taken.etag);
  }

  #pause(failures: number): Promise<void> {
    const { timers, randomness } = this.#options;
    return sleep(timers, backOff(contention, failures, randomness));
  }
}

function keyOf(write: RowWrite): RowKey {
  const { partitionKey, rowKey } = keyOfWrite(write);
  return { partitionKey, rowKey };
}

function upkeepOf(write: IndexWrite, item: number): Upkeep {
  return { ...write, item };
}

function nameOf({ partitionKey, rowKey }: RowKey): string {
  return JSON.stringify([partitionKey, rowKey]);
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

/**
 * A transaction writes a row once. Where one entity gives a value up and another one takes it, the
 * copy is replaced. Throws `TransactionFailedError` when two entities take a value.
 */
function eachRowOnce(upkeep: readonly Upkeep[]): readonly Upkeep[] {
  const byKey = new Map<string, Upkeep>();
  for (const each of upkeep) {
    const name = nameOf(keyOf(each.write));
    const known = byKey.get(name);
    byKey.set(name, known === undefined ? each : joined(known, each));
  }
  return [...byKey.values()];
}

function joined(left: Upkeep, right: Upkeep): Upkeep {
  const [given, taken] = left.write.kind === 'delete' ? [left, right] : [right, left];
  if (given.write.kind === 'delete' && taken.write.kind !== 'delete') {
    const { etag } = given.write;
    return { ...taken, write: { kind: 'replace', row: taken.write.row, etag } };
  }
  const reason = new IndexValueTakenError(right.index.name, keyOf(right.write));
  throw new TransactionFailedError(reason.message, right.item, reason);
}
