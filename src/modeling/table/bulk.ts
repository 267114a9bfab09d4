import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { BulkProgress } from './bulk-progress.js';
import type { BulkReport, BulkResult } from './bulk-result.js';
import { BulkSender, type Item } from './bulk-sender.js';
import { Gate } from '../../base/async/gate.js';
import { keyOfWrite, transactionWritesMax, type RowWrite, type TableGateway } from './gateway.js';
import { operationBytes, transactionBytes, transactionBytesMax } from './request-size.js';

/** How bulk work goes on, and whom it tells. */
export interface BulkOptions {
  /** Requests at a time; 8 when absent. */
  readonly concurrency?: number;
  /** How often a request is sent while it fails transiently; 6 when absent. */
  readonly attemptsMax?: number;
  /** How many of the writes to skip: the `position` of an earlier run over the same writes. */
  readonly from?: number;
  /** Ends the work: what is being sent is awaited, nothing more is sent. */
  readonly signal?: AbortSignal;
  /** Told of every write as it is settled, in no order. */
  readonly onResult?: (result: BulkResult) => void;
  /**
   * Called when the position advances. A program that stores it can continue from there after a
   * crash.
   */
  readonly onPosition?: (position: number) => void;
  /** Failures that the report keeps; 1000 when absent. */
  readonly failuresMax?: number;
  readonly randomness?: Randomness;
  readonly timers?: Timers;
}

/**
 * Writes many rows, of any partitions, without a promise for all of them together: writes of a
 * partition go in entity group transactions of at most 100 writes and 4 MiB, one transaction at a
 * time for a row, several at a time for others. Where atomicity matters, `transaction` refuses to
 * split instead.
 *
 * A write that fails takes only itself out: the others of its transaction are sent again without
 * it. Transient failures are tried again with growing waits. An insert, or a replace or merge under
 * an ETag, that is refused is compared with the stored row by one point read: when every property
 * is there as written, the write counts as `unchanged`. Writes of `writesOf(…, { stamp: false })`
 * can therefore be given again after a crash.
 *
 * `writes` is read as the work goes on; some thousand writes are held at a time. Resolves when all
 * are settled; throws only what reading `writes` or a callback throws.
 */
export async function bulk(
  table: TableGateway,
  writes: Iterable<RowWrite> | AsyncIterable<RowWrite>,
  options: BulkOptions = {},
): Promise<BulkReport> {
  const work = new Bulk(table, options);
  for await (const write of writes) {
    if (options.signal?.aborted === true) break;
    await work.take(write);
  }
  return work.finish();
}

/** Writes of one partition that will be sent together. */
interface Chunk {
  readonly items: Item[];
  readonly rowKeys: Set<string>;
  bytes: number;
}

const concurrencyDefault = 8;
const attemptsDefault = 6;
const failuresDefault = 1000;
/** Transactions' worth of rows that wait for others of their partitions. */
const waitingTransactions = 2;

class Bulk {
  readonly #sender: BulkSender;
  readonly #progress: BulkProgress;
  readonly #gate: Gate;
  readonly #from: number;
  readonly #signal: AbortSignal | undefined;
  readonly #waitingMax: number;
  readonly #runningMax: number;
  /** By partition, the oldest first. */
  readonly #chunks = new Map<string, Chunk>();
  /** By partition and row: the work that writes it. */
  readonly #busy = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  #waiting = 0;
  #taken = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(table: TableGateway, options: BulkOptions) {
    const concurrency = Math.max(1, options.concurrency ?? concurrencyDefault);
    this.#from = options.from ?? 0;
    this.#signal = options.signal;
    this.#gate = new Gate(concurrency);
    this.#waitingMax = waitingTransactions * concurrency * transactionWritesMax;
    this.#runningMax = 2 * concurrency;
    this.#progress = new BulkProgress(this.#from, {
      failuresMax: options.failuresMax ?? failuresDefault,
      onResult: options.onResult,
      onPosition: options.onPosition,
    });
    this.#sender = new BulkSender(table, this.#progress, {
      attemptsMax: options.attemptsMax ?? attemptsDefault,
      randomness: options.randomness ?? systemRandomness,
      timers: options.timers ?? holdingTimers,
      signal: options.signal,
    });
  }

  async take(write: RowWrite): Promise<void> {
    const item: Item = { index: this.#taken++, write };
    if (item.index < this.#from) return;
    const { partitionKey, rowKey } = keyOfWrite(write);
    const open = this.#chunks.get(partitionKey);
    if (open?.rowKeys.has(rowKey) === true) this.#send(partitionKey, open);
    // A row is written by one request at a time, in the order given.
    await this.#busy.get(idOf(partitionKey, rowKey));
    const bytes = operationBytes(write);
    const chunk = this.#chunkFor(partitionKey, bytes);
    chunk.items.push(item);
    chunk.rowKeys.add(rowKey);
    chunk.bytes += bytes;
    this.#waiting += 1;
    if (chunk.items.length >= transactionWritesMax) this.#send(partitionKey, chunk);
    await this.#makeRoom();
  }

  async finish(): Promise<BulkReport> {
    if (this.#signal?.aborted !== true) {
      for (const [partitionKey, chunk] of this.#chunks) this.#send(partitionKey, chunk);
    }
    while (this.#running.size > 0) await Promise.all(this.#running);
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#progress.report();
  }

  #chunkFor(partitionKey: string, bytes: number): Chunk {
    const open = this.#chunks.get(partitionKey);
    if (open !== undefined && open.bytes + bytes <= transactionBytesMax) return open;
    if (open !== undefined) this.#send(partitionKey, open);
    const chunk: Chunk = { items: [], rowKeys: new Set(), bytes: transactionBytes([]) };
    this.#chunks.set(partitionKey, chunk);
    return chunk;
  }

  /** Sends the oldest chunks, so that the position advances and no write waits for ever. */
  async #makeRoom(): Promise<void> {
    for (const [partitionKey, chunk] of this.#chunks) {
      if (this.#waiting <= this.#waitingMax) break;
      this.#send(partitionKey, chunk);
    }
    while (this.#running.size > this.#runningMax) await Promise.race(this.#running);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #send(partitionKey: string, chunk: Chunk): void {
    this.#chunks.delete(partitionKey);
    this.#waiting -= chunk.items.length;
    const ids = [...chunk.rowKeys].map((rowKey) => idOf(partitionKey, rowKey));
    const work = this.#gate
      .run(() => this.#sender.send(chunk.items))
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(work);
        for (const id of ids) this.#busy.delete(id);
      });
    for (const id of ids) this.#busy.set(id, work);
    this.#running.add(work);
  }
}

function idOf(partitionKey: string, rowKey: string): string {
  return `${partitionKey.length} ${partitionKey}${rowKey}`;
}
