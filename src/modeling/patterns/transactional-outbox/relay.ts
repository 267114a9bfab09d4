import { requireCounts } from '../../definition/count.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { unlessConflict } from '../../table/conditional-write.js';
import { isConflict } from '../../table/contention.js';
import { divided } from '../../table/divided.js';
import { DefinitionError, ModelError } from '../../table/errors.js';
import { concurrently } from '../../../base/async/concurrently.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Envelope } from '../../worker/envelope.js';
import { handle, type MessageHandler } from '../../worker/handler.js';
import { MalformedMessageError, UnknownMessageError } from '../../worker/message-type.js';
import { sleep } from '../../../base/async/sleep.js';
import { isTransient } from '../../table/transient.js';
import type { Dispatch, DispatchContext } from './dispatch.js';
import { OutboxHintMessage } from './hint.js';
import { deleteMessages, type MessageSink } from './message-sink.js';
import {
  envelopeOfRow,
  failuresOf,
  isOutboxRow,
  poisonMessages,
  poisonKey,
  waitingKey,
  withFailure,
  withoutFailures,
  type WaitingMessage,
} from './outbox-row.js';
import type { OutboxRegistry } from './registry.js';
import { SharedRuns } from '../../../base/async/shared-runs.js';
import { readWaiting } from './waiting-messages.js';
import type { StoredRow } from '../../rows/row.js';
import { keyOf } from '../../rows/row-parts.js';

/** The options of a relay. */
export interface RelayOptions {
  readonly table: TableGateway;
  readonly registry: OutboxRegistry;
  /** Dispatches a message. When absent, only those that `sink` takes leave the outbox. */
  readonly dispatch?: Dispatch;
  /** Receives the messages that it takes, such as a change feed, after they were dispatched. */
  readonly sink?: MessageSink;
  /**
   * Failed attempts before a message becomes a poison message. Default 10. Transient failures,
   * `UnknownMessageError` and attempts that were stopped do not count.
   */
  readonly attemptsMax?: number;
  /** Partitions that a sweep processes concurrently. Default 8. */
  readonly concurrency?: number;
  readonly observer?: (event: RelayEvent) => void;
  readonly timers?: Timers;
}

/** The outcome of an attempt to dispatch a message. */
export interface RelayEvent {
  /** `failed`: it will be retried, and blocks later messages. `poisoned`: given up. */
  readonly kind: 'dispatched' | 'failed' | 'poisoned';
  readonly partitionKey: string;
  readonly rowKey: string;
  /** Undefined when the row holds no message. */
  readonly envelope: Envelope | undefined;
  readonly error?: unknown;
}

/** The messages of one partition that were processed. */
export interface RelayReport {
  /** Messages dispatched and removed from the outbox. */
  readonly dispatched: number;
  /** Messages that became poison messages. */
  readonly poisoned: number;
}

/** The messages of all partitions that were processed. */
export interface SweepReport extends RelayReport {
  readonly partitions: number;
  /** Partitions that were not finished, with the reasons; the first 100. */
  readonly unfinished: readonly { readonly partitionKey: string; readonly error: unknown }[];
}

/** A message could not be dispatched. It waits, and later messages of its partition do, too. */
export class RelayBlockedError extends ModelError {
  override readonly name = 'RelayBlockedError';
}

/** Messages dispatched before they are removed from the outbox together. */
const batchMax = 100;
const overtakenMax = 20;
const unfinishedMax = 100;
/** A message and its copy are two writes of a transaction. */
const redriveMax = 50;

interface Counts {
  dispatched: number;
  poisoned: number;
}

/**
 * Dispatches the messages of an outbox, those of one partition in the order in which they were
 * committed, at least once each. Several relays may run concurrently; they may dispatch a message
 * twice.
 *
 * A message that cannot be dispatched blocks later ones of its partition, until it can be, or has
 * failed too often and is moved to a poison row of its partition. A message whose type neither the
 * dispatch nor the sink knows waits for another relay.
 */
export class Relay {
  readonly table: TableGateway;
  readonly #registry: OutboxRegistry;
  readonly #dispatch: Dispatch | undefined;
  readonly #sink: MessageSink | undefined;
  readonly #attemptsMax: number;
  readonly #concurrency: number;
  readonly #observe: (event: RelayEvent) => void;
  readonly #timers: Timers;
  readonly #runs = new SharedRuns();

  /**
   * Throws `DefinitionError` when messages would go nowhere, and `ValueError` for an option that is
   * no count. Sends nothing.
   */
  constructor(options: RelayOptions) {
    const { table, registry, dispatch, sink, observer } = options;
    if (dispatch === undefined && sink === undefined) {
      throw new DefinitionError('a relay needs a dispatch or a sink, or messages would be lost');
    }
    requireCounts({ attemptsMax: options.attemptsMax, concurrency: options.concurrency });
    this.table = table;
    this.#registry = registry;
    this.#dispatch = dispatch;
    this.#sink = sink;
    this.#attemptsMax = options.attemptsMax ?? 10;
    this.#concurrency = options.concurrency ?? 8;
    this.#observe = observer ?? (() => undefined);
    this.#timers = options.timers ?? holdingTimers;
  }

  /**
   * Dispatches the waiting messages of one partition. Sends one range read per 1,000 messages, the
   * requests of `dispatch` for each message, and one transaction per 100, or as many as the table
   * takes. Throws `RelayBlockedError`, and the errors of the table.
   *
   * Calls for a partition that this relay is working on share one run, which starts afterwards; the
   * report of one of them counts its messages. One whose `signal` is aborted while it waits ends at
   * once, with a report of nothing; the run continues for the others.
   */
  async partition(
    partitionKey: string,
    { signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<RelayReport> {
    const run = (): Promise<RelayReport> => this.#partition(partitionKey, signal);
    return (await this.#runs.run(partitionKey, signal, run)) ?? { dispatched: 0, poisoned: 0 };
  }

  async #partition(partitionKey: string, signal: AbortSignal): Promise<RelayReport> {
    const counts: Counts = { dispatched: 0, poisoned: 0 };
    let overtaken = 0;
    for (let isDone = false; !isDone && !signal.aborted;) {
      const { rows, hasMore } = await readWaiting(this.table, partitionKey);
      if (await this.#pass(partitionKey, rows, counts, signal)) isDone = !hasMore;
      else if (++overtaken >= overtakenMax) {
        throw overtakenError();
      }
    }
    return counts;
  }

  /**
   * Dispatches the waiting messages of every registered partition, in case hints were lost. Sends
   * the requests of `registry.partitions`, and those of `partition` for each. A partition that
   * fails does not stop the others. An attempt that `signal` stops does not count against its
   * message: where sweeps are timed, dispatches need a shorter timeout of their own, or a message
   * that takes longer than every sweep holds up its partition for ever.
   */
  async sweep({ signal }: { readonly signal?: AbortSignal } = {}): Promise<SweepReport> {
    const report = {
      partitions: 0,
      dispatched: 0,
      poisoned: 0,
      unfinished: [] as { partitionKey: string; error: unknown }[],
    };
    await concurrently(this.#partitions(signal), this.#concurrency, async (partitionKey) => {
      report.partitions += 1;
      try {
        const done = await this.partition(partitionKey, signal === undefined ? {} : { signal });
        report.dispatched += done.dispatched;
        report.poisoned += done.poisoned;
      } catch (error) {
        if (report.unfinished.length < unfinishedMax) {
          report.unfinished.push({ partitionKey, error });
        }
      }
    });
    return report;
  }

  /** The partitions to sweep, until the signal is aborted. */
  async *#partitions(signal: AbortSignal | undefined): AsyncGenerator<string, void, undefined> {
    for await (const partitionKey of this.#registry.partitions()) {
      if (signal?.aborted === true) return;
      yield partitionKey;
    }
  }

  /**
   * Sweeps repeatedly until the signal is aborted, then resolves after the partitions under way.
   * Waits `intervalMs` (60,000) between sweeps, including those that failed transiently; rejects
   * when the registry fails otherwise.
   */
  async run(options: {
    readonly signal: AbortSignal;
    readonly intervalMs?: number;
    readonly onSweep?: (report: SweepReport) => void;
  }): Promise<void> {
    const { signal, intervalMs = 60_000, onSweep } = options;
    while (!signal.aborted) {
      try {
        onSweep?.(await this.sweep({ signal }));
      } catch (error) {
        if (!isTransient(error)) throw error;
      }
      await sleep(this.#timers, intervalMs, signal);
    }
  }

  /**
   * Moves the poison messages of a partition back, to be dispatched again: one range read and one
   * transaction per 50, or as many as the table takes. Returns the number of those that it has
   * found; another call may have moved some of them at the same time. They come before waiting
   * messages that were committed later.
   */
  async redrive(partitionKey: string): Promise<number> {
    const query = { ...poisonMessages(partitionKey), limit: redriveMax };
    let [count, last, overtaken] = [0, '', 0];
    for (let cursor: string | undefined; ;) {
      const page = await this.table.page({ ...query, cursor });
      const rows = page.rows.filter(isOutboxRow);
      // A page without messages may not be the last. Moved messages are gone, so the next read
      // starts again.
      cursor = rows.length === 0 ? page.cursor : undefined;
      if (rows.length === 0 && cursor === undefined) return count;
      if (rows.length === 0) continue;
      if (!(await this.#bringBack(rows)) && ++overtaken >= overtakenMax) throw overtakenError();
      // When another call has moved some, the next read finds the others again: they count once.
      const known = last;
      count += rows.filter(({ rowKey }) => rowKey > known).length;
      last = rows.at(-1)?.rowKey ?? last;
    }
  }

  /** False when another call has changed some of them since they were read. */
  #bringBack(rows: readonly StoredRow[]): Promise<boolean> {
    return unlessConflict(async () => {
      await divided(rows, (some) =>
        this.table.transact(
          some.flatMap((row) => [
            { kind: 'insert', row: { ...withoutFailures(row), ...waitingKey(row) } },
            { kind: 'delete', key: keyOf(row), etag: row.etag },
          ]),
        ),
      );
      return true;
    });
  }

  /** False when another relay has taken some of these messages since they were read. */
  async #pass(
    partitionKey: string,
    rows: readonly StoredRow[],
    counts: Counts,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (let at = 0; at < rows.length && !signal.aborted; at += batchMax) {
      const batch: WaitingMessage[] = [];
      let blocked: unknown;
      for (const row of rows.slice(at, at + batchMax)) {
        if (signal.aborted) break;
        blocked = await this.#handOn(row, batch, counts, signal);
        if (blocked !== undefined) break;
      }
      if (!(await this.#remove(partitionKey, batch, counts))) return false;
      if (blocked !== undefined) {
        const what = `the outbox of '${partitionKey}' in ${this.table.table} is held up`;
        throw new RelayBlockedError(`${what}: ${textOf(blocked)}`, { cause: blocked });
      }
    }
    return true;
  }

  /** Removes dispatched messages from the outbox. False when another relay was faster. */
  async #remove(
    partitionKey: string,
    batch: readonly WaitingMessage[],
    counts: Counts,
  ): Promise<boolean> {
    const sink = this.#sink;
    const taken = batch.filter(({ envelope }) => sink?.takes(envelope.type) === true);
    const handled = batch.filter((message) => !taken.includes(message));
    await deleteMessages(this.table, handled);
    counts.dispatched += handled.length;
    if (sink === undefined || taken.length === 0) return true;
    if (!(await sink.take(partitionKey, taken))) return false;
    counts.dispatched += taken.length;
    return true;
  }

  /**
   * Throws `UnknownMessageError` when neither the dispatch nor the sink knows the type of the
   * message.
   */
  async #dispatchTo(envelope: Envelope, context: DispatchContext): Promise<void> {
    const { type, id } = envelope;
    const isTaken = this.#sink?.takes(type) === true;
    const dispatch = this.#dispatch;
    if (dispatch !== undefined && !(isTaken && dispatch.knows?.(type) === false)) {
      await dispatch(envelope, context);
    } else if (!isTaken) {
      throw new UnknownMessageError(`the sink of this relay takes no '${type}', such as ${id}`);
    }
  }

  /** Returns the reason why the message must wait, if it must. */
  async #handOn(
    row: StoredRow,
    batch: WaitingMessage[],
    counts: Counts,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { partitionKey, rowKey } = row;
    let envelope: Envelope | undefined;
    try {
      envelope = envelopeOfRow(row);
      const outbox = `${this.table.table}/${partitionKey}`;
      await this.#dispatchTo(envelope, { outbox, attempt: failuresOf(row) + 1, signal });
      batch.push({ row, envelope });
      this.#observe({ kind: 'dispatched', partitionKey, rowKey, envelope });
      return undefined;
    } catch (error) {
      const isHopeless = envelope === undefined || error instanceof MalformedMessageError;
      const isCounted = !signal.aborted && !isExcused(error);
      const isLast = isCounted && failuresOf(row) + 1 >= this.#attemptsMax;
      const kind = isHopeless || isLast ? 'poisoned' : 'failed';
      if (kind === 'poisoned' || isCounted) await this.#recordFailure(row, error, kind);
      this.#observe({ kind, partitionKey, rowKey, envelope, error });
      if (kind === 'failed') return error ?? new Error('rejected without an error');
      counts.poisoned += 1;
      return undefined;
    }
  }

  /** One transaction or one update. */
  async #recordFailure(row: StoredRow, error: unknown, kind: 'poisoned' | 'failed'): Promise<void> {
    const failed = withFailure(row, error);
    const { etag } = row;
    try {
      if (kind === 'failed') await this.table.write({ kind: 'replace', row: failed, etag });
      else {
        await this.table.transact([
          { kind: 'insert', row: { ...failed, ...poisonKey(row) } },
          { kind: 'delete', key: keyOf(row), etag },
        ]);
      }
    } catch (conflict) {
      // Another relay has recorded its own failure, or has dispatched the message.
      if (!isConflict(conflict)) throw conflict;
    }
  }
}

function overtakenError(): RelayBlockedError {
  const text = `other relays changed the same messages first, ${overtakenMax} times`;
  return new RelayBlockedError(text);
}

/** Failures that pass by themselves, or with a program that knows the message. */
function isExcused(error: unknown): boolean {
  return isTransient(error) || error instanceof UnknownMessageError;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : 'it was rejected';
}

/**
 * The handler of hints, for a worker of their queue: it relays the partition of the hint. One
 * handler serves all relays of a program, by their tables. A message that cannot be dispatched is
 * left to the sweeps, unless the reason is transient. When the worker stops before it has processed
 * all messages of a hint, the hint is left to another worker.
 */
export function hintHandlerOf(relays: readonly Relay[]): MessageHandler {
  return handle(OutboxHintMessage, async ({ table, partitionKey }, { signal }) => {
    const relay = relays.find((each) => each.table.table === table);
    if (relay === undefined) {
      throw new DefinitionError(`a hint names the table '${table}', which no relay here serves`);
    }
    try {
      await relay.partition(partitionKey, { signal });
    } catch (error) {
      if (!(error instanceof RelayBlockedError) || isTransient(error)) throw error;
    }
    signal.throwIfAborted();
  });
}

/** A relay. Throws `DefinitionError` when its messages would go nowhere. Sends nothing. */
export function relayOf(options: RelayOptions): Relay {
  return new Relay(options);
}
