import type { Randomness } from '../../base/randomness.js';
import type { Timers } from '../../base/async/timers.js';
import { ModelError } from '../rows/model-error.js';
import type { StoredRow } from '../rows/row.js';
import { sameProperties } from '../rows/same-value.js';
import { backOff } from '../../base/async/back-off.js';
import { backOffs } from './back-offs.js';
import { sleep } from '../../base/async/sleep.js';
import { isTransient } from './transient.js';
import type { BulkProgress } from './bulk-progress.js';
import type { BulkResult } from './bulk-result.js';
import { isTooLargeTogether } from './divided.js';
import { RequestError, TransactionFailedError } from './errors.js';
import { keyOfWrite, type RowPage, type RowWrite, type TableGateway } from './gateway.js';

/** A write and its index among those given. */
export interface Item {
  readonly index: number;
  readonly write: RowWrite;
}

export interface SenderOptions {
  readonly attemptsMax: number;
  readonly randomness: Randomness;
  readonly timers: Timers;
  readonly signal: AbortSignal | undefined;
}

/** Sends writes of one partition until each is settled. */
export class BulkSender {
  readonly #table: TableGateway;
  readonly #progress: BulkProgress;
  readonly #options: SenderOptions;

  constructor(table: TableGateway, progress: BulkProgress, options: SenderOptions) {
    this.#table = table;
    this.#progress = progress;
    this.#options = options;
  }

  /** Settles every item, unless the signal aborts first. */
  async send(items: readonly Item[]): Promise<void> {
    let rest = items;
    for (let attempt = 1; rest.length > 0 && this.#options.signal?.aborted !== true;) {
      try {
        await this.#request(rest);
        return this.#progress.settle(rest.map((item) => ({ ...item, outcome: 'applied' })));
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        const failed = failedItem(rest, error);
        if (failed !== undefined) {
          const result = await this.#classify(failed, reasonOf(error));
          this.#progress.settle([result]);
          rest = rest.filter((item) => item !== failed);
          if (result.outcome === 'unchanged') rest = await this.#withoutUnchanged(rest);
          attempt = 1;
        } else if (rest.length > 1 && isDivisible(error)) return this.#halves(rest);
        else if (!isTransient(error) || attempt >= this.#options.attemptsMax) {
          return this.#progress.settle(rest.map((item) => failure(item, error)));
        } else {
          await this.#pause(attempt);
          attempt += 1;
        }
      }
    }
  }

  async #request(items: readonly Item[]): Promise<void> {
    const [first, ...others] = items;
    if (first === undefined) return;
    this.#progress.countRequest();
    if (others.length === 0) await this.#table.write(first.write);
    else await this.#table.transact(items.map(({ write }) => write));
  }

  async #halves(items: readonly Item[]): Promise<void> {
    const middle = Math.ceil(items.length / 2);
    await this.send(items.slice(0, middle));
    await this.send(items.slice(middle));
  }

  /** A refused write is `unchanged` when the row is as it would leave it: it was applied before. */
  async #classify(item: Item, error: ModelError): Promise<BulkResult> {
    if (!isConflict(error)) return failure(item, error);
    this.#progress.countRequest();
    try {
      const row = await this.#table.get(keyOfWrite(item.write));
      return isThere(item.write, row) ? unchanged(item) : failure(item, error);
    } catch (cause) {
      if (!(cause instanceof ModelError)) throw cause;
      // A conflict means that the write was not applied. Here the outcome is unknown.
      return failure(item, cause);
    }
  }

  /**
   * Settles writes that were applied before, with one range read: a transaction applies as a whole,
   * so when one of its writes was applied, the others probably were.
   */
  async #withoutUnchanged(items: readonly Item[]): Promise<readonly Item[]> {
    const keys = items.map(({ write }) => keyOfWrite(write));
    const rowKeys = keys.map(({ rowKey }) => rowKey).sort();
    const [first] = keys;
    if (first === undefined || keys.length === 1) return items;
    this.#progress.countRequest();
    const { partitionKey } = first;
    const rowKey = { from: rowKeys[0], to: rowKeys.at(-1) };
    let page: RowPage;
    try {
      page = await this.#table.page({ partitionKey, rowKey });
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      return items;
    }
    const rows = new Map(page.rows.map((row) => [row.rowKey, row]));
    const isComplete = page.cursor === undefined;
    const isSettled = ({ write }: Item): boolean => {
      const row = rows.get(keyOfWrite(write).rowKey);
      return (row !== undefined || isComplete) && isThere(write, row);
    };
    this.#progress.settle(items.filter(isSettled).map(unchanged));
    return items.filter((item) => !isSettled(item));
  }

  #pause(failures: number): Promise<void> {
    const { timers, randomness, signal } = this.#options;
    return sleep(timers, backOff(backOffs.request, failures, randomness), signal);
  }
}

/** Whether a row is as a write would leave it. */
function isThere(write: RowWrite, row: StoredRow | undefined): boolean {
  if (write.kind === 'delete') return row === undefined;
  return row !== undefined && sameProperties(write.row, row);
}

function unchanged(item: Item): BulkResult {
  return { ...item, outcome: 'unchanged' };
}

function failure(item: Item, error: ModelError): BulkResult {
  return { ...item, outcome: 'failed', error };
}

function reasonOf(error: ModelError): ModelError {
  return error instanceof TransactionFailedError ? error.reason : error;
}

/** The write that failed, if the error names one. */
function failedItem(items: readonly Item[], error: ModelError): Item | undefined {
  if (isTransient(error)) return undefined;
  if (items.length === 1) return items[0];
  return error instanceof TransactionFailedError ? items[error.index ?? -1] : undefined;
}

/** Whether smaller groups may succeed: the group was too large, or the error names no write. */
function isDivisible(error: ModelError): boolean {
  return (
    isTooLargeTogether(error) ||
    (error instanceof TransactionFailedError && error.index === undefined)
  );
}

function isConflict(error: ModelError): boolean {
  return error instanceof RequestError && [404, 409, 412].includes(error.status);
}
