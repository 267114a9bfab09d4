import type { Clock } from '../../../base/clock.js';
import { invariant } from '../../../base/invariant.js';
import { ModelError, TooLargeError } from '../../rows/model-error.js';
import {
  isConflict,
  isOvertaken,
  OvertakenError,
  retryConflicts,
  type ContentionOptions,
} from '../../table/contention.js';
import { isAmbiguous, TransactionFailedError } from '../../table/errors.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowWrite,
  type WriteResult,
} from '../../table/gateway.js';
import { bytesBeyondTransaction, transactionBytesMax } from '../../table/request-size.js';
import type { BlobPort } from './blob-port.js';
import { expand, merging, type Expander, type Expansion, type PuttingWrite } from './expansion.js';
import { inOrder } from '../../table/in-order.js';
import { isLargeRow, requestBytes, type PlannedBlob } from './layout.js';
import { manifestOf, manifestProperty } from './manifest.js';
import { reasonOf } from '../../table/failure-of-one.js';

/** Bytes of a transaction that are reserved for the deletes of old rows. */
const tidyBytes = 64 * 1024;
const requestBytesMax = transactionBytesMax - tidyBytes;

export interface WriterSettings {
  readonly clock: Clock;
  readonly graceMs: number;
  readonly concurrency: number;
  readonly contention: ContentionOptions;
}

/**
 * Executes writes: puts blobs, sends everything for the table in one request, then deletes what
 * became unreferenced. After a failure at any point, entities refer only to existing rows and
 * blobs.
 */
export class LargeWriter {
  readonly #expander: Expander;
  readonly #settings: WriterSettings;

  constructor(expander: Expander, settings: WriterSettings) {
    this.#expander = expander;
    this.#settings = settings;
  }

  run(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    return this.#retried(() => this.#attempt(writes));
  }

  /** Throws what `run` would throw before it puts a blob or sends a write. */
  check(writes: readonly RowWrite[]): Promise<void> {
    return this.#retried(async () => {
      const expansions = await this.#expanded(writes);
      await this.#expander.table.check?.(expansions.flatMap((expansion) => expansion.writes));
    });
  }

  #retried<T>(attempt: () => Promise<T>): Promise<T> {
    const what = `tidying up after an entity of ${this.#expander.table.table}`;
    return retryConflicts(what, this.#settings.contention, attempt, isOvertaken);
  }

  async #expanded(writes: readonly RowWrite[]): Promise<readonly Expansion[]> {
    const share = this.#shareOf(writes);
    const expansions = await Promise.all(
      writes.map((write) => expand(this.#expander, write, share)),
    );
    this.#refuseTooLarge(expansions.flatMap((expansion) => expansion.writes));
    return expansions;
  }

  async #attempt(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const started = this.#settings.clock.monotonicMs();
    const expansions = await this.#expanded(writes);
    await this.#put(expansions);
    this.#refuseLate(started, expansions);
    try {
      return await this.#send(expansions);
    } catch (error) {
      const [write] = writes;
      if (error instanceof TooLargeError && writes.length === 1 && isMerge(write)) {
        return this.#sendMerged(write);
      }
      throw error;
    }
  }

  /** The check comes first, so that no blobs are put in vain. */
  #refuseTooLarge(writes: readonly RowWrite[]): void {
    const { table } = this.#expander;
    const what = `${table.table}: with the rows of large values, the writes`;
    if (writes.length > transactionWritesMax) {
      throw new TooLargeError(
        `${what} are ${writes.length}; a transaction holds ${transactionWritesMax}. ` +
          'Write less at a time',
      );
    }
    const bytes = bytesBeyondTransaction(table, writes);
    if (bytes === undefined) return;
    throw new TooLargeError(
      `${what} take about ${bytes} bytes; a transaction has less than 4 MiB. Write less at a time`,
    );
  }

  /** The share of the transaction's bytes for each write with large values. */
  #shareOf(writes: readonly RowWrite[]): number {
    const rows = writes.flatMap((write) => (write.kind === 'delete' ? [] : [write.row]));
    const large = rows.filter((row) => isLargeRow(row, this.#expander.limits));
    const others = rows.filter((row) => !large.includes(row));
    const rest = requestBytesMax - others.reduce((sum, row) => sum + requestBytes(row), 0);
    return Math.floor(rest / Math.max(1, large.length));
  }

  /**
   * A small merge that the service refused because the entity became too large: lays it out again.
   */
  async #sendMerged(write: PuttingWrite): Promise<readonly WriteResult[]> {
    const expansion = await merging(this.#expander, write, requestBytesMax);
    await this.#put([expansion]);
    return this.#send([expansion]);
  }

  async #put(expansions: readonly Expansion[]): Promise<void> {
    const puts = expansions.flatMap(({ puts }) => puts);
    if (puts.length === 0) return;
    const blobs = this.#blobs();
    await inOrder(puts, this.#settings.concurrency, ({ name, bytes, details }: PlannedBlob) =>
      blobs.put(name, bytes, details),
    );
  }

  /**
   * After too long, the blobs of a write may have been deleted as abandoned: it must not refer to
   * them.
   */
  #refuseLate(started: number, expansions: readonly Expansion[]): void {
    if (expansions.every(({ puts }) => puts.length === 0)) return;
    const { clock, graceMs } = this.#settings;
    const elapsed = clock.monotonicMs() - started;
    if (elapsed < graceMs / 2) return;
    throw new ModelError(
      `storing the blobs took ${Math.round(elapsed)} ms, more than half of graceMs (${graceMs}): ` +
        'nothing was written',
    );
  }

  async #send(expansions: readonly Expansion[]): Promise<readonly WriteResult[]> {
    let results: readonly WriteResult[];
    try {
      results = await this.#sendToTable(expansions.flatMap(({ writes }) => writes));
    } catch (error) {
      const own = await this.#ownSuccess(error, expansions);
      if (own === undefined) throw asGiven(error, expansions);
      results = own;
    }
    await this.#drop(expansions.flatMap(({ drops }) => drops));
    let at = 0;
    return expansions.map(({ writes }) => {
      const result = results[at];
      at += writes.length;
      invariant(result !== undefined, 'every write has a result');
      return { etag: result.etag };
    });
  }

  async #sendToTable(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const { table } = this.#expander;
    const [only] = writes;
    if (writes.length > 1 || only === undefined) return table.transact(writes);
    return [await table.write(only)];
  }

  /**
   * A refusal may answer the client's repetition of a request that was applied. The entity then
   * refers to the blobs of this write, which counts as success. Otherwise, when certainly nothing
   * was applied, the blobs are deleted.
   */
  async #ownSuccess(
    error: unknown,
    expansions: readonly Expansion[],
  ): Promise<readonly WriteResult[] | undefined> {
    const puts = expansions.flatMap((expansion) => expansion.puts);
    if (puts.length === 0 || !(error instanceof ModelError) || isAmbiguous(error)) return undefined;
    const withBlobs = expansions.find((expansion) => expansion.puts.length > 0);
    const applied = withBlobs !== undefined && (await this.#isApplied(withBlobs));
    if (applied) return this.#etagsOf(expansions);
    await this.#drop(puts.map(({ name }) => name));
    return undefined;
  }

  async #isApplied({ writes: [write], puts }: Expansion): Promise<boolean> {
    const row = await this.#expander.table.get(keyOfWrite(write), [manifestProperty]);
    const generation = row === undefined ? undefined : manifestOf(row.properties)?.generation;
    return generation !== undefined && puts.some(({ name }) => name.includes(generation));
  }

  /** Reads the ETags of the rows as they are now. */
  #etagsOf(expansions: readonly Expansion[]): Promise<readonly WriteResult[]> {
    const writes = expansions.flatMap((expansion) => expansion.writes);
    return Promise.all(
      writes.map(async (write) => {
        if (write.kind === 'delete') return { etag: undefined };
        return { etag: (await this.#expander.table.get(write.row, []))?.etag };
      }),
    );
  }

  /** Ignores failures: the write is done, and `verifyLargeValues` finds the blobs that are left. */
  async #drop(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const blobs = this.#blobs();
    await inOrder(names, this.#settings.concurrency, (name) =>
      blobs.delete(name).catch(() => undefined),
    );
  }

  #blobs(): BlobPort {
    const { blobs, table } = this.#expander;
    if (blobs !== undefined) return blobs;
    throw new ModelError(`values of ${table.table} are in blobs: pass 'blobs'`);
  }
}

/** The error in terms of the given writes. */
function asGiven(error: unknown, expansions: readonly Expansion[]): unknown {
  const index = indexOfFailed(error, expansions);
  const reason = reasonOf(error);
  const isOwn = index !== undefined && expansions[index]?.isOwnCondition === true;
  if (isOwn && isConflict(reason)) {
    return new OvertakenError(error);
  }
  if (!(error instanceof TransactionFailedError)) return error;
  return new TransactionFailedError(error.message, index, error.reason);
}

/** The index of the given write that failed, if known. */
function indexOfFailed(error: unknown, expansions: readonly Expansion[]): number | undefined {
  const failed = error instanceof TransactionFailedError ? error.index : 0;
  if (failed === undefined) return undefined;
  let next = 0;
  const index = expansions.findIndex(({ writes }) => {
    next += writes.length;
    return failed < next;
  });
  return index < 0 ? undefined : index;
}

function isMerge(write: RowWrite | undefined): write is PuttingWrite {
  return write?.kind === 'merge' || write?.kind === 'upsert-merge';
}
