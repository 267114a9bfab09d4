import { setTimeout as pause } from 'node:timers/promises';
import { CommitUnknownError, StoreUnavailableError, StoreWriteError } from 'tabularium/kv';
import { compareBytes, type Bytes } from './bytes.js';
import {
  headOf,
  noHead,
  stateAt,
  versionOf,
  type Head,
  type RowVersion,
} from './partition-rows.js';
import type { PrefixIndex } from './prefix-index.js';
import type { Row, Session } from './session.js';
import { headRow, type Statements } from './statements.js';

/** Rows that one statement asks for. */
const rowsEach = 100;
/** For so long a change without an answer is asked for, in milliseconds. */
const outcomeMillisMax = 30_000;
const outcomePauseMs = 200;

/** Rows of a partition, all of one state. */
export interface PartitionState {
  readonly head: Head;
  /** By the name of the row: the newest version of each, also of those that are gone. */
  readonly rows: ReadonlyMap<string, RowVersion>;
}

export interface Change {
  readonly last: number;
  readonly pending?: Bytes;
  /** Their versions are up to `last`, and above that of the head before. */
  readonly writes: readonly RowVersion[];
}

export interface PartitionsOptions {
  readonly session: Session;
  readonly statements: Statements;
  readonly index: PrefixIndex;
  /** Names this process among those that change partitions. */
  readonly process: string;
  readonly monotonicMs: () => number;
}

/** Reads and changes the partitions of a store. */
export class Partitions {
  readonly #options: PartitionsOptions;
  #marks = 0;
  #changes = 0;

  constructor(options: PartitionsOptions) {
    this.#options = options;
  }

  /** Changes that were applied. */
  get changes(): number {
    return this.#changes;
  }

  async head(prefix: Bytes): Promise<Head> {
    const { session, statements } = this.#options;
    const [row] = await session.readInOrder(statements.readHead(prefix));
    return headOf(row);
  }

  /** The state of these rows and the head, at one moment. */
  async read(prefix: Bytes, rows: readonly Bytes[], withValues: boolean): Promise<PartitionState> {
    const { session, statements } = this.#options;
    const first = [headRow, ...rows.slice(0, rowsEach)];
    const found = await session.readInOrder(statements.readRows(prefix, first, withValues));
    const isHead = (row: Row) => compareBytes(row['row'] as Buffer, headRow) === 0;
    const headFound = found.find(isHead);
    const { last } = headFound === undefined ? noHead : headOf(headFound);
    if (headFound === undefined || last === undefined) return { head: noHead, rows: new Map() };
    const versions = found.filter((row) => !isHead(row)).map(versionOf);
    // Versions up to `last` do not change any more, so further reads are of the same state.
    for (let at = rowsEach; at < rows.length; at += rowsEach) {
      const statement = statements.readRows(prefix, rows.slice(at, at + rowsEach), withValues);
      versions.push(...(await this.readAll(statement)).map(versionOf));
    }
    return { head: headOf(headFound), rows: stateAt(last, versions) };
  }

  /**
   * Replaces the head whose `last` is `before`, and writes rows beside it. False: the partition has
   * changed since. At most one call at a time for a prefix of a store in a process. Rejects with
   * `CommitUnknownError` when the outcome stays unknown; with every other error nothing was
   * applied.
   */
  async change(prefix: Bytes, before: number | undefined, change: Change): Promise<boolean> {
    const { session, statements, index, process } = this.#options;
    const { last, pending, writes } = change;
    if (before === undefined) await index.add(prefix);
    this.#marks += 1;
    const mark = this.#marks;
    try {
      const isApplied = await session.change([
        statements.replaceHead(prefix, before, { last, pending }),
        statements.mark(prefix, process, mark),
        ...writes.map((write) => statements.putRow(prefix, write)),
      ]);
      if (isApplied) this.#changes += 1;
      return isApplied;
    } catch (error) {
      if (error instanceof StoreUnavailableError || error instanceof StoreWriteError) throw error;
      return this.#wasApplied(prefix, before, mark, error);
    }
  }

  /** Removes versions that no read needs any more. */
  async remove(prefix: Bytes, row: Bytes, version: number): Promise<void> {
    const { session, statements } = this.#options;
    await session.write(statements.removeRows(prefix, row, version));
  }

  /**
   * Whether a change without an answer was applied. While the head is the one before, it may still
   * arrive: so the head is raised, and the condition of the change can never hold again.
   */
  async #wasApplied(
    prefix: Bytes,
    before: number | undefined,
    mark: number,
    cause: unknown,
  ): Promise<boolean> {
    const { session, statements, process, monotonicMs } = this.#options;
    const until = monotonicMs() + outcomeMillisMax;
    let lastError = cause;
    while (monotonicMs() < until) {
      try {
        const { last, pending, marks } = await this.head(prefix);
        if (marks[process] === BigInt(mark)) return true;
        if (last !== before) return false;
        const raised = { last: (last ?? 0) + 1, pending };
        await session.change([statements.replaceHead(prefix, last, raised)]);
      } catch (error) {
        lastError = error;
        await pause(outcomePauseMs);
      }
    }
    const text = `Whether the commit was applied is not known: ${String(lastError)}`;
    throw new CommitUnknownError(text, { cause: lastError });
  }

  async readAll(statement: ReturnType<Statements['readRows']>): Promise<readonly Row[]> {
    const { session } = this.#options;
    const rows: Row[] = [];
    let next: string | undefined;
    do {
      const page = await session.readPage(statement, rowsEach, next);
      rows.push(...page.rows);
      next = page.next;
    } while (next !== undefined);
    return rows;
  }
}
