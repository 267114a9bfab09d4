import { deferred } from '../../base/async/deferred.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import { nameOfKey } from '../rows/row-parts.js';
import type { RowKey, StoredRow } from '../rows/row.js';
import { ContentionError } from './errors.js';
import type { TableGateway } from './gateway.js';
import { UpdateScope } from './update-scope.js';

/** A change that runs for longer than this many milliseconds does not hold up the next one. */
const waitMs = 1000;

/** Changes of a row that may run or wait. Each is a call that the program has not awaited yet. */
const queuedMax = 10_000;

/** The result of a change, and the rows that it wrote, as far as they are known. */
export interface UpdateOutcome<R> {
  readonly result: R;
  readonly written: readonly StoredRow[];
}

/** The rows that the preceding changes wrote, by the names of their keys. */
export type PrecedingRows = ReadonlyMap<string, StoredRow | undefined>;

export interface QueueOptions {
  readonly timers: Timers;
  /** The scope of the change that makes this one. */
  readonly within?: UpdateScope | undefined;
}

/** A change in the queue of a row. Neither promise rejects. */
interface QueuedChange {
  readonly scope: UpdateScope;
  readonly started: Promise<void>;
  /** Resolves with the row, when the change wrote it. */
  readonly ended: Promise<StoredRow | undefined>;
  readonly end: (written: StoredRow | undefined) => void;
}

interface Queue {
  last: QueuedChange;
  /** Changes that run or wait. */
  count: number;
}

/**
 * A FIFO queue of changes for each row. They run one after the other, in the order of their calls,
 * and each gets the row that the one before it wrote. So the changes of one process do not conflict
 * with each other, and only the first of them reads. A change of several rows joins all queues at
 * once: of two changes, the same one is first in every queue, so they cannot deadlock.
 *
 * The queues only save requests. Correctness does not depend on them, because every write is
 * conditional on the ETag of the row that it was made from. A change within another one does not
 * wait for changes that wait for that one. When a change has run for a second, the next one starts
 * beside it, so that a change that hangs holds up no other one for ever.
 */
export class RowUpdateQueues {
  readonly #table: string;
  readonly #queues = new Map<string, Queue>();

  constructor(table: string) {
    this.#table = table;
  }

  /** The number of rows with changes. */
  get rows(): number {
    return this.#queues.size;
  }

  /**
   * Runs `change` when it is first in the queue of each row. It may `leave` the queue of a row that
   * it does not write after all. Changes that it makes itself name its scope in `within`. Throws
   * `ContentionError`, and does not call `change`, when 10,000 changes of a row run or wait.
   */
  async run<R>(
    keys: readonly RowKey[],
    { timers, within }: QueueOptions,
    change: (
      preceding: PrecedingRows,
      scope: UpdateScope,
      leave: (key: RowKey) => void,
    ) => Promise<UpdateOutcome<R>>,
  ): Promise<R> {
    const names = [...new Set(keys.map(nameOfKey))];
    this.#refuseFull(names);
    const { promise: started, resolve: start } = deferred();
    const scope = new UpdateScope(within);
    const queued = new Map(names.map((name) => [name, queuedChange(scope, started)]));
    const waits = [...queued].flatMap(([name, change]) => {
      const before = this.#enter(name, change);
      if (before === undefined || !scope.waitsFor(before.scope)) return [];
      return [rowAfter(before, timers).then((row) => [name, row] as const)];
    });
    const leave = (name: string, written?: StoredRow): void => {
      queued.get(name)?.end(written);
      if (queued.delete(name)) this.#leave(name);
    };
    try {
      const preceding = new Map(await Promise.all(waits));
      scope.start();
      start();
      const { result, written } = await change(preceding, scope, (key) => leave(nameOfKey(key)));
      for (const row of written) leave(nameOfKey(row), row);
      return result;
    } finally {
      for (const name of names) leave(name);
      scope.end();
    }
  }

  /** Adds a change to a queue. Returns the one before it. */
  #enter(name: string, change: QueuedChange): QueuedChange | undefined {
    const queue = this.#queues.get(name);
    this.#queues.set(name, { last: change, count: (queue?.count ?? 0) + 1 });
    return queue?.last;
  }

  #leave(name: string): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) return;
    queue.count -= 1;
    if (queue.count === 0) this.#queues.delete(name);
  }

  #refuseFull(names: readonly string[]): void {
    const full = names.find((name) => (this.#queues.get(name)?.count ?? 0) >= queuedMax);
    if (full === undefined) return;
    throw new ContentionError(
      `${this.#table}: ${queuedMax} changes of the row ${full} wait for each other in this process: ` +
        'await some before the next, or spread what they change over several rows',
    );
  }
}

function queuedChange(scope: UpdateScope, started: Promise<void>): QueuedChange {
  const { promise: ended, resolve: end } = deferred<StoredRow | undefined>();
  return { scope, started, ended, end };
}

async function rowAfter(
  { started, ended }: QueuedChange,
  timers: Timers,
): Promise<StoredRow | undefined> {
  await started;
  const waiting = new AbortController();
  try {
    const late = sleep(timers, waitMs, waiting.signal).then(() => undefined);
    return await Promise.race([ended, late]);
  } finally {
    waiting.abort();
  }
}

const queuesByTable = new WeakMap<TableGateway, RowUpdateQueues>();

/** The queues of a table, which all changes of its rows through one gateway share. */
export function rowUpdateQueuesOf(table: TableGateway): RowUpdateQueues {
  const known = queuesByTable.get(table);
  if (known !== undefined) return known;
  const queues = new RowUpdateQueues(table.table);
  queuesByTable.set(table, queues);
  return queues;
}

/** Makes changes through a gateway use the queues of the gateway beneath it. */
export function shareRowUpdateQueues(gateway: TableGateway, beneath: TableGateway): void {
  queuesByTable.set(gateway, rowUpdateQueuesOf(beneath));
}
