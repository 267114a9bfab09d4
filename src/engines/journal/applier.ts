import type { Bytes } from '../../base/bytes.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { StoreFailedError } from '../../kv/errors.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { Entry } from '../../kv/store.js';
import { noteEntry } from './base-note.js';
import type { Change } from './frame-change.js';
import type { Journal } from './journal.js';
import type { MemoryTable, Portion, Taken } from './memory-table.js';
import type { ReadEpochs } from './read-epochs.js';

/** How long a change waits at most until the base is told of it, while little is written. */
const delayMs = 5_000;
/** Before the next attempt, when the base takes nothing. */
const retryMs = 500;
/** One transaction of the base. */
const portion: Pick<Portion, 'entriesMax' | 'bytesMax'> = { entriesMax: 1_000, bytesMax: 2 << 20 };

const beginning: Bytes = Buffer.alloc(0);

export interface ApplierParts {
  readonly base: Pick<MemberStore, 'ingest'>;
  readonly journal: Journal;
  readonly table: MemoryTable;
  readonly epochs: ReadEpochs;
  readonly timers: Timers;
  readonly lastVersion: () => number;
  /** With why, when the base begins to take nothing; with nothing when it takes all again. */
  readonly onTrouble: (error: Error | undefined) => void;
  /** So many bytes in the table make it begin at once. */
  readonly bytesToBegin: number;
}

/** `isSettled`: nothing is written any more, and the base is told that the journal may go. */
interface Drain {
  readonly isSettled?: boolean;
}

/**
 * Tells the base what the table knows, in key order, and lets the journal forget it then. What the
 * base has of a pass that has not ended is older or the same as what table and journal have.
 */
export class Applier {
  readonly #parts: ApplierParts;
  #pass: Promise<void> | undefined;
  #delay: Timer | undefined;
  #isClosed = false;
  #trouble: Error | undefined;
  readonly #whenProgress: (() => void)[] = [];

  constructor(parts: ApplierParts) {
    this.#parts = parts;
  }

  /** Why the base does not take what it is told; undefined while it does. */
  get trouble(): Error | undefined {
    return this.#trouble;
  }

  /** Something was written. */
  wake(): void {
    const { table, bytesToBegin } = this.#parts;
    if (this.#pass !== undefined || this.#isClosed || this.#isWaiting) return;
    if (table.bytes >= bytesToBegin) return this.#begin();
    this.#beginIn(delayMs);
  }

  /** Resolves when the table or the journal have become smaller, or the base has taken nothing. */
  progress(): Promise<void> {
    if (this.#isWaiting) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenProgress.push(resolve);
      this.#begin();
    });
  }

  /** Resolves when the base has all that was written before. Rejects with why it takes nothing. */
  async drain(options: Drain = {}): Promise<void> {
    while (this.#pass !== undefined) await this.#pass;
    const attempt = this.#attempt(options);
    this.#pass = attempt.then(() => undefined);
    const failure = await attempt;
    if (failure !== undefined) throw failure;
  }

  /** Ends after what it is doing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#delay?.close();
    await this.#pass;
  }

  #begin(): void {
    this.#delay?.close();
    this.#delay = undefined;
    if (this.#isClosed) return this.#tellProgress();
    this.#pass ??= this.#attempt().then(() => undefined);
  }

  /** Resolves with why the base has not taken everything. */
  async #attempt(options?: Drain): Promise<Error | undefined> {
    let failure: Error | undefined;
    try {
      await this.#runPass(options);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      this.#note(failure);
    }
    this.#pass = undefined;
    this.#goOn();
    this.#tellProgress();
    return failure;
  }

  #note(trouble: Error | undefined): void {
    const isNews = (trouble === undefined) !== (this.#trouble === undefined);
    this.#trouble = trouble;
    // One that has failed tells it itself.
    if (isNews && !(trouble instanceof StoreFailedError)) this.#parts.onTrouble(trouble);
  }

  #goOn(): void {
    if (this.#isClosed || this.#trouble instanceof StoreFailedError) return;
    // Tried again until it succeeds: nothing else tells that the base is well.
    if (this.#trouble !== undefined) this.#beginIn(retryMs);
    else if (this.#parts.table.count > 0) this.wake();
  }

  #beginIn(ms: number): void {
    this.#delay ??= this.#parts.timers.start(ms, () => this.#begin(), undefined);
  }

  /** The base has taken nothing, and will be asked again soon. */
  get #isWaiting(): boolean {
    return this.#trouble !== undefined && this.#delay !== undefined;
  }

  async #runPass({ isSettled = false }: Drain = {}): Promise<void> {
    const { base, journal, table, epochs } = this.#parts;
    const { position } = journal;
    const { sequence } = position;
    // Who has looked at the table before the last of these changes must not find them in the base.
    await epochs.over();
    let start: Bytes | undefined = beginning;
    while (start !== undefined) {
      const { entries, next }: Taken = table.take(start, { sequenceMax: sequence, ...portion });
      const floor = this.#parts.lastVersion();
      const { puts, deletes } = partsOf(entries);
      if (next === undefined) puts.push(noteEntry({ ...position, isSettled }));
      await base.ingest({ entries: puts, deletes, floor });
      table.settle(entries);
      this.#note(undefined);
      this.#tellProgress();
      start = next;
    }
    await journal.release(position);
  }

  #tellProgress(): void {
    for (const tell of this.#whenProgress.splice(0)) tell();
  }
}

function partsOf(changes: readonly Change[]): { puts: Entry[]; deletes: Bytes[] } {
  const puts: Entry[] = [];
  const deletes: Bytes[] = [];
  for (const { key, value, version } of changes) {
    if (value === undefined) deletes.push(key);
    else puts.push({ key, value, version });
  }
  return { puts, deletes };
}
