import { within } from '../../base/async/deadline.js';
import type { Timers } from '../../base/async/timers.js';
import { retry } from '../../base/async/retry.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import {
  CommitUnknownError,
  StoreClosedError,
  StoreUnavailableError,
  StoreWriteError,
  unknownOutcome,
} from '../../kv/errors.js';
import type { Acknowledgements } from './acknowledgements.js';
import type { BatchCall, CommitForm } from './commit-form.js';
import { failureOf, isAway, refusal, unavailable } from './failures.js';
import type { Connection } from './connection.js';
import { decodeOutcomes, type Outcome } from './outcomes.js';
import { mayBeRemoved, readClocks, type ClockReading } from './row-age.js';
import { bytesOf, numberOf } from './rows.js';
import type { Primary } from './primary.js';
import type { Statements } from './statements.js';

/** How long a commit waits for a primary: less than the 30 s of a request. */
const connectLimitMs = 20_000;
/**
 * The time, in milliseconds, within which a commit that lost its connection must learn its outcome
 * from a server. It may have to wait for the locks of a silent process, so it is longer than the
 * database keeps those.
 */
const resolveLimitMs = 30_000;
/**
 * Attempts of a batch that fails temporarily, for example by a deadlock or a lost connection.
 * Limited, because the batch itself may break its connections when it needs more memory than there
 * is.
 */
const attemptsMax = 5;
/** How long a close waits for the removal of its row. */
const removeLimitMs = 2_000;
const backOffMs = { first: 5, last: 200 };
const sessionIdBytes = 6;

export interface SessionOptions {
  readonly primary: Primary;
  readonly statements: Statements;
  readonly form: CommitForm;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /** Checked on each new connection before it writes. */
  readonly acknowledgements: Acknowledgements;
}

interface Open {
  readonly connection: Connection;
  readonly id: string;
  /** The number of the last batch that was applied. */
  batch: number;
  /**
   * The time at which the next batch was sent; before the first batch, the time at which the
   * session was opened.
   */
  sent: ClockReading;
}

/**
 * A writing connection. It applies one batch after the other, and its row in the database names the
 * last applied one. So the outcome of a batch is known even when the connection is lost, as soon as
 * a server answers.
 */
export class Session {
  readonly #options: SessionOptions;
  #open: Open | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Whether it has a connection that is not known to be lost. */
  get isOpen(): boolean {
    return this.#open?.connection.isLost === false;
  }

  /**
   * Applies a batch exactly once, also when connections are lost. Rejects with `CommitUnknownError`
   * when no server tells the outcome within 30 s of a loss; after any other rejection nothing was
   * applied, and nothing will be.
   */
  apply(call: BatchCall): Promise<readonly Outcome[]> {
    return this.#attempted((count) => this.#applyOnce(call, count));
  }

  /** To be called when no batch is under way. */
  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    await this.#removeRow(open);
    await open.connection.close();
  }

  /** When this fails, another server removes the row later. */
  async #removeRow({ connection, id }: Open): Promise<void> {
    const { statements, timers } = this.#options;
    const removed = connection.query(statements.removeSession, [id]);
    const late = () => new Error('The row of a session was not removed in time.');
    await within(removed, { limitMs: removeLimitMs, timers, late }).catch(() => {
      connection.destroy();
    });
  }

  async #applyOnce(call: BatchCall, count: number): Promise<readonly Outcome[]> {
    const open = await this.#opened();
    open.sent = readClocks(this.#options.clock);
    open.connection.takeWarning();
    try {
      const outcomes = await call(open.connection, { id: open.id, number: open.batch + 1 });
      // Asks on another connection, whose own commit waits for the standby.
      assertNotWarned(open.connection);
      open.batch += 1;
      this.#note(open.id, open.batch, outcomes);
      return outcomes;
    } catch (error) {
      const applied = await this.#recover(open, error, count);
      if (applied !== undefined) return applied;
      throw new TemporaryError(error);
    }
  }

  async #opened(): Promise<Open> {
    const { acknowledgements } = this.#options;
    // Another connection may have detected lost commits; this one leads to the same database.
    if (acknowledgements.refusal !== undefined) throw acknowledgements.refusal;
    if (this.#open !== undefined && this.isOpen) return this.#open;
    this.#open = await this.#attempted(() => this.#openOnce());
    return this.#open;
  }

  async #openOnce(): Promise<Open> {
    const { primary, randomness, statements, form, clock, acknowledgements } = this.#options;
    const connection = await primary.connect(connectLimitMs, form.pipelines);
    try {
      await acknowledgements.assertKept(connection);
      const id = String(randomness.bytes(sessionIdBytes).reduce((sum, byte) => sum * 256 + byte));
      await connection.query(statements.openSession, [id]);
      return { connection, id, batch: 0, sent: readClocks(clock) };
    } catch (error) {
      connection.destroy();
      if (error instanceof StoreWriteError) throw error;
      throw isAway(error) ? new TemporaryError(error) : refusal(error);
    }
  }

  /**
   * The outcomes of a batch whose call failed; undefined when nothing was applied and the batch may
   * be tried again.
   */
  async #recover(
    open: Open,
    error: unknown,
    failures: number,
  ): Promise<readonly Outcome[] | undefined> {
    const kind = failureOf(error);
    if (kind === 'again' && failures < attemptsMax) return undefined;
    // A pooler may report the loss of its server with any code. Only a connection that still works
    // shows that just the statement failed.
    const isRefused = kind === 'refused' && (await open.connection.answers());
    // A connection on which anything failed is not used again.
    this.#open = undefined;
    open.connection.destroy();
    if (isRefused) throw refusal(error);
    return kind === 'lost' || kind === 'refused' ? this.#resolve(open, error) : undefined;
  }

  /** Closes the session of a lost connection, and reads what it has applied. */
  async #resolve(open: Open, lost: unknown): Promise<readonly Outcome[] | undefined> {
    const { timers } = this.#options;
    const over = new AbortController();
    const attempt = () => this.#resolveOnce(open, over.signal);
    const resolved = this.#retried(mayTellLater, attempt, over.signal);
    try {
      const late = () => unknownOutcome(lost);
      return await within(resolved, { limitMs: resolveLimitMs, timers, late });
    } catch (error) {
      throw isTold(error) ? error : unknownOutcome(lost);
    } finally {
      over.abort();
    }
  }

  /** When the signal is aborted, asks no further and closes its connection. */
  async #resolveOnce(open: Open, over: AbortSignal): Promise<readonly Outcome[] | undefined> {
    const { id, batch } = open;
    const connection = await this.#options.primary.connectPatiently(resolveLimitMs, over);
    const outcomes = await connection.prepare(() => this.#outcomeOn(connection, open), over);
    // The outcome does not wait for the end of the connection.
    void connection.close();
    if (outcomes !== undefined) this.#note(id, batch + 1, outcomes);
    return outcomes;
  }

  /**
   * The outcomes of the batch after `batch`; undefined when it was not applied and never will be.
   */
  async #outcomeOn(
    connection: Connection,
    { id, batch, sent }: Open,
  ): Promise<readonly Outcome[] | undefined> {
    const { statements, acknowledgements, clock } = this.#options;
    // The server may have warned while it let the connection in.
    connection.takeWarning();
    const [row] = await connection.query(statements.closeSession, [id]);
    // The batch is on the standby only when this later commit is.
    assertNotWarned(connection);
    // The process was suspended for about a day, so a sweep may have removed the row of an applied
    // batch.
    if (row === undefined && mayBeRemoved(sent, clock)) {
      throw unknownOutcome(new Error('it was sent a day ago, and its session is not there'));
    }
    const last = row === undefined ? undefined : numberOf(row[0]);
    if (last === batch + 1) return decodeOutcomes(bytesOf(row?.[1]));
    invariant(last === undefined || last <= batch, 'a session applies one batch at a time');
    // The database lacks earlier batches of the session.
    if (last !== batch) await acknowledgements.assertKept(connection);
    return undefined;
  }

  /** Rejects with `StoreUnavailableError` when the last attempt failed temporarily as well. */
  async #attempted<T>(attempt: (count: number) => Promise<T>): Promise<T> {
    try {
      return await this.#retried(isTemporary, attempt);
    } catch (error) {
      throw isTemporary(error) ? unavailable(error.cause) : error;
    }
  }

  #retried<T>(
    isRetryable: (error: unknown) => boolean,
    attempt: (count: number) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const { timers, randomness } = this.#options;
    return retry({ attemptsMax, backOffMs, timers, randomness, isRetryable, signal }, attempt);
  }

  #note(session: string, batch: number, outcomes: readonly Outcome[]): void {
    const versions = outcomes.flatMap((outcome) =>
      outcome.kind === 'result' && outcome.result.ok ? outcome.result.version : [],
    );
    if (versions.length === 0) return;
    const version = Math.max(...versions);
    this.#options.acknowledgements.note({ session, batch, commits: versions.length, version });
  }
}

/** Throws when the standby may lack the last commit of the connection. */
function assertNotWarned(connection: Connection): void {
  if (connection.takeWarning()) throw new Error('The database has warned of a commit.');
}

/** Nothing was applied, and another attempt may succeed. `cause` says why. */
class TemporaryError extends Error {
  override readonly name = 'TemporaryError';

  constructor(cause: unknown) {
    super('The database did nothing.', { cause });
  }
}

function isTemporary(error: unknown): error is TemporaryError {
  return error instanceof TemporaryError;
}

/** Whether another server, or the same one later, may still tell the outcome of a batch. */
function mayTellLater(error: unknown): boolean {
  const isOver = error instanceof StoreUnavailableError || error instanceof StoreClosedError;
  return !isOver && !isTold(error);
}

/** Whether the error is the final answer about the batch. */
function isTold(error: unknown): boolean {
  return error instanceof StoreWriteError || error instanceof CommitUnknownError;
}
