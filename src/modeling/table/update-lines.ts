import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import type { RowKey, StoredRow } from '../rows/row.js';
import type { TableGateway } from './gateway.js';

/** How long an update may run before the next one in line starts beside it. */
const turnMs = 1000;

/** The end of an update: its result, and the row that it wrote, if it is known. */
export interface LineEnd<R> {
  readonly result: R;
  readonly written: StoredRow | undefined;
}

/** An update in line. Neither promise rejects. */
interface Place {
  readonly started: Promise<void>;
  /** Resolves with the row that the update wrote. */
  readonly ended: Promise<StoredRow | undefined>;
}

interface Line {
  last: Place | undefined;
  /** Updates that run or wait. */
  count: number;
}

/**
 * Runs the updates of a row one after the other, in the order of their calls, and hands each the
 * row that the one before it wrote. So the updates of one process do not overtake each other, and
 * only the first of them reads.
 *
 * Nothing depends on it but the number of requests: every write is conditional on the ETag of the
 * row that it was made from. When an update has run for a second, the next one starts beside it, so
 * that an update within an update of the same row, or after one that hangs, comes to an end.
 */
export class UpdateLines {
  readonly #lines = new Map<string, Line>();

  /** The number of rows with updates. */
  get rows(): number {
    return this.#lines.size;
  }

  async run<R>(
    { partitionKey, rowKey }: RowKey,
    timers: Timers,
    update: (handed: StoredRow | undefined) => Promise<LineEnd<R>>,
  ): Promise<R> {
    const name = JSON.stringify([partitionKey, rowKey]);
    const line = this.#lines.get(name) ?? { last: undefined, count: 0 };
    this.#lines.set(name, line);
    line.count += 1;
    const before = line.last;
    let start: () => void = () => undefined;
    let end: (written: StoredRow | undefined) => void = () => undefined;
    line.last = {
      started: new Promise((resolve) => (start = resolve)),
      ended: new Promise((resolve) => (end = resolve)),
    };
    let written: StoredRow | undefined;
    try {
      const handed = before === undefined ? undefined : await turnAfter(before, timers);
      start();
      const done = await update(handed);
      ({ written } = done);
      return done.result;
    } finally {
      end(written);
      line.count -= 1;
      if (line.count === 0) this.#lines.delete(name);
    }
  }
}

async function turnAfter(
  { started, ended }: Place,
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

/** The lines of a table, shared by everything that updates its rows through one gateway. */
export function updateLinesOf(table: TableGateway): UpdateLines {
  const known = linesByTable.get(table);
  if (known !== undefined) return known;
  const lines = new UpdateLines();
  linesByTable.set(table, lines);
  return lines;
}
