import { invariant } from '../../base/invariant.js';
import type { Entity } from '../../model/edm/value.js';
import { entityJson } from '../client/entity-json.js';
import type { WatermarkTicket } from './low-watermark.js';
import { TransactionGroups, type RowGroup } from './transaction-groups.js';
import { writeTransaction, type WriterOptions } from './transaction-writer.js';

export interface RowToImport {
  readonly entity: Entity;
  readonly line: number;
  readonly ticket: WatermarkTicket;
}

interface HeldRow extends RowToImport {
  readonly body: string;
}

export interface ImporterOptions extends WriterOptions {
  /** Transactions in flight at a time. */
  readonly concurrency: number;
  readonly onWritten: (rows: number) => void;
  readonly onRefused: (row: RowToImport, code: string, message: string) => void;
}

/** The limits of rows and bytes that wait for their transactions to fill up. */
const heldRowsMax = 20_000;
const heldBytesMax = 64 * 1024 * 1024;

/**
 * Writes rows in entity group transactions, several at a time, with bounded memory.
 *
 * Rows with the same key are written in the order in which they were added, so that the last one
 * wins: a transaction with a key of one in flight waits for it.
 */
export class Importer {
  readonly #options: ImporterOptions;
  readonly #groups = new TransactionGroups<HeldRow>();
  readonly #inFlight = new Set<Promise<void>>();
  /** The pending transaction of each key. */
  readonly #writers = new Map<string, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: ImporterOptions) {
    invariant(options.concurrency >= 1, 'an import needs at least one transaction at a time');
    this.#options = options;
  }

  /** Adds a row; waits while the limits are reached. Throws when the import cannot continue. */
  async add(row: RowToImport): Promise<void> {
    for (const group of this.#groups.add({ ...row, body: entityJson(row.entity) })) {
      await this.#dispatch(group);
    }
    while (this.#groups.rowCount > heldRowsMax || this.#groups.byteCount > heldBytesMax) {
      await this.#dispatchOldest();
    }
    this.#throwFailure();
  }

  /** Writes all remaining rows. Returns false when it was stopped before. */
  async finish(): Promise<boolean> {
    const { signal } = this.#options;
    while (this.#groups.rowCount > 0 && !signal.aborted) await this.#dispatchOldest();
    await this.settle();
    this.#throwFailure();
    return this.#groups.rowCount === 0;
  }

  /** Writes the oldest rows, so that they do not delay the saved progress. */
  async writeOldest(): Promise<void> {
    await this.#dispatchOldest();
    await this.settle();
    this.#throwFailure();
  }

  /** Waits for the transactions in flight; never throws. */
  async settle(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async #dispatchOldest(): Promise<void> {
    const group = this.#groups.takeOldest();
    if (group !== undefined) await this.#dispatch(group);
  }

  async #dispatch(group: RowGroup<HeldRow>): Promise<void> {
    while (this.#inFlight.size >= this.#options.concurrency) await Promise.race(this.#inFlight);
    this.#throwFailure();
    const ids = group.rows.map(({ entity }) => keyId(entity));
    const before = ids.flatMap((id) => this.#writers.get(id) ?? []);
    const writing: Promise<void> = this.#write(group.rows, before).finally(() => {
      this.#inFlight.delete(writing);
      for (const id of ids) if (this.#writers.get(id) === writing) this.#writers.delete(id);
    });
    this.#inFlight.add(writing);
    for (const id of ids) this.#writers.set(id, writing);
  }

  /** Never throws: the first failure is thrown by the next `add`. */
  async #write(rows: readonly HeldRow[], before: readonly Promise<void>[]): Promise<void> {
    try {
      await Promise.all(before);
      if (this.#failure !== undefined) return;
      const refused = await writeTransaction(rows, this.#options);
      this.#options.onWritten(rows.length - refused.length);
      const refusedRows = new Set<HeldRow>();
      for (const { row, code, message } of refused) {
        refusedRows.add(row);
        this.#options.onRefused(row, code, message);
      }
      for (const row of rows) row.ticket.settle(refusedRows.has(row) ? 'refused' : 'written');
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Distinct for distinct keys. */
function keyId({ partitionKey, rowKey }: Entity): string {
  return `${partitionKey.length}:${partitionKey}${rowKey}`;
}
