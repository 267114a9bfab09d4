import { requireCounts } from '../definition/count.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { BulkProgress } from './bulk-progress.js';
import type { BulkReport, BulkResult } from './bulk-result.js';
import { BulkSender, type Item } from './bulk-sender.js';
import { Gate } from '../../base/async/gate.js';
import { keyOfWrite, transactionWritesMax, type RowWrite, type TableGateway } from './gateway.js';
import { operationBytes, transactionBytes, transactionBytesMax } from './request-size.js';

/** The options of `bulk`. */
export interface BulkOptions {
  /** Concurrent requests; 8 when absent. */
  readonly concurrency?: number;
  /** Attempts of a request that fails transiently; 6 when absent. */
  readonly attemptsMax?: number;
  /** Writes to skip: the `position` of an earlier run over the same writes. */
  readonly from?: number;
  /** Stops the work: waits for requests under way and sends nothing more. */
  readonly signal?: AbortSignal;
  /** Called for every settled write, in no particular order. */
  readonly onResult?: (result: BulkResult) => void;
  /** Called when the position advances. A program that stores it can resume there after a crash. */
  readonly onPosition?: (position: number) => void;
  /** Failures kept in the report; 1000 when absent. */
  readonly failuresMax?: number;
  readonly randomness?: Randomness;
  readonly timers?: Timers;
}

/**
 * Writes many rows of any partitions, without atomicity across them. Writes of one partition go in
 * entity group transactions of at most 100 writes, or what the table takes, and 4 MiB. Several run
 * at a time, but those that write the same row run one after another, in the order given. Where
 * atomicity matters, `transaction` refuses to split instead.
 *
 * A write that fails does not affect the others of its transaction: they are sent again without it.
 * Transient failures are retried after growing waits. A write that is refused with 404, 409 or 412
 * is compared with the stored row by one point read: when every property is there as written, it
 * counts as `unchanged`. Writes of `writesOf(…, { stamp: false })` can therefore be given again
 * after a crash.
 *
 * Reads `writes` as the work proceeds and holds some thousand at a time. Resolves when all are
 * settled; throws only what reading `writes` or a callback throws, and `ValueError` for an option
 * that is no count.
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
/** Bounds the writes that wait for others of their partitions, in full transactions per request. */
const waitingTransactions = 2;

class Bulk {
  readonly #sender: BulkSender;
  readonly #progress: BulkProgress;
  readonly #gate: Gate;
  readonly #from: number;
  readonly #signal: AbortSignal | undefined;
  /** The writes of one transaction. */
  readonly #chunkMax: number;
  readonly #waitingMax: number;
  readonly #runningMax: number;
  /** By partition, oldest first. */
  readonly #chunks = new Map<string, Chunk>();
  /** By partition and row: the request that writes it. */
  readonly #busy = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  #waiting = 0;
  #taken = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(table: TableGateway, options: BulkOptions) {
    const { concurrency = concurrencyDefault, attemptsMax, from, failuresMax } = options;
    requireCounts({ concurrency, attemptsMax });
    requireCounts({ from, failuresMax }, { min: 0 });
    this.#from = options.from ?? 0;
    this.#signal = options.signal;
    this.#gate = new Gate(concurrency);
    this.#chunkMax = table.writesMax ?? transactionWritesMax;
    this.#waitingMax = waitingTransactions * concurrency * this.#chunkMax;
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
    // One request at a time writes a row, so that the order given holds.
    await this.#busy.get(idOf(partitionKey, rowKey));
    const bytes = operationBytes(write);
    const chunk = this.#chunkFor(partitionKey, bytes);
    chunk.items.push(item);
    chunk.rowKeys.add(rowKey);
    chunk.bytes += bytes;
    this.#waiting += 1;
    if (chunk.items.length >= this.#chunkMax) this.#send(partitionKey, chunk);
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
