import { deferred } from '../../base/async/deferred.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import { nameOfKey } from '../rows/row-parts.js';
import type { RowKey, StoredRow } from '../rows/row.js';
import { ContentionError } from './errors.js';
import type { TableGateway } from './gateway.js';
import { Turn } from './turn.js';

/** How long a change may run before the next one in line starts beside it. */
const turnMs = 1000;

/** Changes of a row that may run or wait; each is a call that its program has not awaited yet. */
const lineMax = 10_000;

/** The end of a change: its result, and the rows that it wrote, as far as they are known. */
export interface LineEnd<R> {
  readonly result: R;
  readonly written: readonly StoredRow[];
}

/** The rows, by the names of their keys, that a change had to wait for, as they were written. */
export type HandedRows = ReadonlyMap<string, StoredRow | undefined>;

export interface LineOptions {
  readonly timers: Timers;
  /** The turn of the change that makes this one. */
  readonly within?: Turn | undefined;
}

/** A change in the line of a row. Neither promise rejects. */
interface QueuedChange {
  readonly turn: Turn;
  readonly started: Promise<void>;
  /** Resolves with the row, when the change wrote it. */
  readonly ended: Promise<StoredRow | undefined>;
  readonly end: (written: StoredRow | undefined) => void;
}

interface Line {
  last: QueuedChange;
  /** Changes that run or wait. */
  count: number;
}

/**
 * Runs the changes of a row one after the other, in the order of their calls, and hands each the
 * row that the one before it wrote. So the changes of one process do not overtake each other, and
 * only the first of them reads. A change of several rows takes its place in all lines at once, so
 * that of two changes one is before the other in every line, and none waits in a circle.
 *
 * Nothing depends on it but the number of requests: every write is conditional on the ETag of the
 * row that it was made from. A change within another one starts beside those that would wait for
 * that one. When a change has run for a second, the next one starts beside it, so that one after
 * one that hangs comes to an end.
 */
export class UpdateLines {
  readonly #table: string;
  readonly #lines = new Map<string, Line>();

  constructor(table: string) {
    this.#table = table;
  }

  /** The number of rows with changes. */
  get rows(): number {
    return this.#lines.size;
  }

  /**
   * `change` may `leave` the line of a row that it does not write after all, and hands its turn to
   * changes within it, which name it in `within`. Throws `ContentionError`, and calls nothing, when
   * 10,000 changes of a row run or wait.
   */
  async run<R>(
    keys: readonly RowKey[],
    { timers, within }: LineOptions,
    change: (handed: HandedRows, turn: Turn, leave: (key: RowKey) => void) => Promise<LineEnd<R>>,
  ): Promise<R> {
    const names = [...new Set(keys.map(nameOfKey))];
    this.#refuseFull(names);
    const { promise: started, resolve: start } = deferred();
    const turn = new Turn(within);
    const queued = new Map(names.map((name) => [name, queuedChange(turn, started)]));
    const waits = [...queued].flatMap(([name, change]) => {
      const before = this.#enter(name, change);
      if (before === undefined || !turn.waitsFor(before.turn)) return [];
      return [handedBy(before, timers).then((row) => [name, row] as const)];
    });
    const leave = (name: string, written?: StoredRow): void => {
      queued.get(name)?.end(written);
      if (queued.delete(name)) this.#leave(name);
    };
    try {
      const handed = new Map(await Promise.all(waits));
      turn.start();
      start();
      const { result, written } = await change(handed, turn, (key) => leave(nameOfKey(key)));
      for (const row of written) leave(nameOfKey(row), row);
      return result;
    } finally {
      for (const name of names) leave(name);
      turn.end();
    }
  }

  /** The last change of the line, before this one. */
  #enter(name: string, change: QueuedChange): QueuedChange | undefined {
    const line = this.#lines.get(name);
    this.#lines.set(name, { last: change, count: (line?.count ?? 0) + 1 });
    return line?.last;
  }

  #leave(name: string): void {
    const line = this.#lines.get(name);
    if (line === undefined) return;
    line.count -= 1;
    if (line.count === 0) this.#lines.delete(name);
  }

  #refuseFull(names: readonly string[]): void {
    const full = names.find((name) => (this.#lines.get(name)?.count ?? 0) >= lineMax);
    if (full === undefined) return;
    throw new ContentionError(
      `${this.#table}: ${lineMax} changes of the row ${full} wait for each other in this process: ` +
        'await some before the next, or spread what they change over several rows',
    );
  }
}

function queuedChange(turn: Turn, started: Promise<void>): QueuedChange {
  const { promise: ended, resolve: end } = deferred<StoredRow | undefined>();
  return { turn, started, ended, end };
}

async function handedBy(
  { started, ended }: QueuedChange,
  timers: Timers,
): Promise<StoredRow | undefined> {
  await started;
  const waiting = new AbortController();
  try {
    const late = sleep(timers, turnMs, waiting.signal).then(() => undefined);
    return await Promise.race([ended, late]);
  } finally {
    waiting.abort();
  }
}

const linesByTable = new WeakMap<TableGateway, UpdateLines>();

/** The lines of a table, shared by everything that changes its rows through one gateway. */
export function updateLinesOf(table: TableGateway): UpdateLines {
  const known = linesByTable.get(table);
  if (known !== undefined) return known;
  const lines = new UpdateLines(table.table);
  linesByTable.set(table, lines);
  return lines;
}

/** From now on, changes through a gateway are in line with those through the one beneath it. */
export function shareUpdateLines(gateway: TableGateway, beneath: TableGateway): void {
  linesByTable.set(gateway, updateLinesOf(beneath));
}
