import type { Bytes } from '../../base/bytes.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { StoreFailedError } from '../../kv/errors.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { Entry } from '../../kv/store.js';
import { noteEntry } from './base-note.js';
import type { Change } from './frame-change.js';
import type { Journal } from './journal.js';
import type { MemoryTable, TableEntries } from './memory-table.js';
import type { ReadEpochs } from './read-epochs.js';

/** The longest time between a write and the pass that applies it, while little is written. */
const delayMs = 5_000;
/**
 * The delay of the first pass when earlier generations have left folders: these take space until it
 * is over, so a process that dies again and again must not add to them for long.
 */
const soonMs = 250;
/** The delay after a pass that the base refused. */
const retryMs = 500;
/** The size of one transaction of the base. */
const portionEntriesMax = 1_000;
const portionBytesMax = 2 * 1024 * 1024;

const beginning: Bytes = Buffer.alloc(0);

export interface ApplierParts {
  readonly base: Pick<MemberStore, 'ingest'>;
  readonly journal: Journal;
  readonly table: MemoryTable;
  readonly epochs: ReadEpochs;
  readonly timers: Timers;
  readonly lastVersion: () => number;
  /** Called with the reason when the base begins to refuse writes, and without one when it ends. */
  readonly onTrouble: (error: Error | undefined) => void;
  /** A pass begins at once when the table has this many bytes. */
  readonly bytesToBegin: number;
}

interface Drain {
  /** Whether this is the last pass: the note then says that the journal is no longer needed. */
  readonly isSettled?: boolean;
}

/**
 * Writes the changes of the table to the base, in key order, and then frees the journal files that
 * held them. A pass that is interrupted does no harm: the table and the journal still have each
 * change that it has written.
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

  /** Why the base refuses writes; undefined while it accepts them. */
  get trouble(): Error | undefined {
    return this.#trouble;
  }

  /** Called after each write: schedules a pass. */
  wake(): void {
    this.#schedule(delayMs);
  }

  /** Schedules the first pass of a store for which a journal was left. */
  beginSoon(): void {
    this.#schedule(soonMs);
  }

  #schedule(ms: number): void {
    const { journal, table, bytesToBegin } = this.#parts;
    if (this.#pass !== undefined || this.#isClosed || this.#isWaiting) return;
    if (table.bytes >= bytesToBegin || journal.isHalfFull) return this.#begin();
    this.#beginIn(ms);
  }

  /** Resolves when the table or the journal has become smaller, or the base has refused a write. */
  progress(): Promise<void> {
    if (this.#isWaiting) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenProgress.push(resolve);
      this.#begin();
    });
  }

  /** Resolves when the base has everything written before. Rejects when the base refuses it. */
  async drain(options: Drain = {}): Promise<void> {
    while (this.#pass !== undefined) await this.#pass;
    const attempt = this.#attempt(options);
    this.#pass = attempt.then(() => undefined);
    const failure = await attempt;
    if (failure !== undefined) throw failure;
  }

  /** Waits for the pass under way; no other begins. */
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

  /** Runs one pass. Resolves with its failure, if it has failed. */
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
    // A failed base reports its failure itself.
    if (isNews && !(trouble instanceof StoreFailedError)) this.#parts.onTrouble(trouble);
  }

  #goOn(): void {
    if (this.#isClosed || this.#trouble instanceof StoreFailedError) return;
    // Only a pass that succeeds shows that the base accepts writes again.
    if (this.#trouble !== undefined) this.#beginIn(retryMs);
    else if (this.#parts.table.count > 0) this.wake();
  }

  #beginIn(ms: number): void {
    this.#delay ??= this.#parts.timers.start(ms, () => this.#begin(), undefined);
  }

  /** The base has refused a write, and the next attempt is scheduled. */
  get #isWaiting(): boolean {
    return this.#trouble !== undefined && this.#delay !== undefined;
  }

  async #runPass({ isSettled = false }: Drain = {}): Promise<void> {
    const { base, journal, table, epochs } = this.#parts;
    const reached = journal.reached();
    const { position } = reached;
    const { sequence } = position;
    // A read that began earlier has seen the table without the last of these changes, so it must
    // not find them in the base either.
    await epochs.over();
    let start: Bytes | undefined = beginning;
    while (start !== undefined) {
      const { entries, next }: TableEntries = table.take(start, {
        sequenceMax: sequence,
        entriesMax: portionEntriesMax,
        bytesMax: portionBytesMax,
      });
      const floor = this.#parts.lastVersion();
      const { puts, deletes } = partsOf(entries);
      if (next === undefined) puts.push(noteEntry({ ...position, isSettled }));
      await base.ingest({ entries: puts, deletes, floor });
      table.settle(entries);
      this.#note(undefined);
      this.#tellProgress();
      start = next;
    }
    journal.release(reached);
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
