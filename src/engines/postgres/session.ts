import type { Timers } from '../../base/async/timers.js';
import { backOff } from '../../base/async/back-off.js';
import { sleep } from '../../base/async/sleep.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import {
  StoreClosedError,
  StoreUnavailableError,
  StoreWriteError,
  unknownOutcome,
} from '../../kv/errors.js';
import type { Acknowledgements } from './acknowledgements.js';
import type { BatchCall, CommitForm } from './commit-form.js';
import { failureOf, isAway, refusal, unavailable } from './failures.js';
import type { Link } from './link.js';
import { decodeOutcomes, type Outcome } from './outcomes.js';
import { bytesOf, numberOf } from './rows.js';
import type { Primary } from './primary.js';
import type { Statements } from './statements.js';

/** How long a commit waits for a server that takes it: less than a request has (30 s). */
const connectLimitMs = 20_000;
/** How long a commit whose connection was lost waits for a server that knows what came of it. */
const resolveLimitMs = 30_000;
/** Attempts of a batch that met deadlocks and the like. */
const attemptsMax = 5;
const backOffMs = { first: 5, last: 200 };
const sessionIdBytes = 6;

export interface SessionOptions {
  readonly primary: Primary;
  readonly statements: Statements;
  readonly form: CommitForm;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /** Looked at on each new connection, before anything is written. */
  readonly acknowledgements: Acknowledgements;
}

interface Open {
  readonly link: Link;
  readonly id: string;
  /** The number of the last batch that was applied. */
  batch: number;
}

/**
 * A connection that writes, batch by batch. Its row in the database says which batch was applied
 * last: so a lost connection leaves no doubt, once a server answers.
 */
export class Session {
  readonly #options: SessionOptions;
  #open: Open | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /**
   * Applies a batch once, whatever becomes of connections. Rejects with `CommitUnknownError` when no
   * server tells in time what came of it, and otherwise only when nothing of it was applied.
   */
  async apply(call: BatchCall): Promise<readonly Outcome[]> {
    const { timers, randomness } = this.#options;
    for (let failures = 1; ; failures += 1) {
      const open = await this.#opened();
      try {
        const outcomes = await call(open.link, { id: open.id, number: open.batch + 1 });
        open.batch += 1;
        this.#note(open.id, open.batch, outcomes);
        return outcomes;
      } catch (error) {
        const applied = await this.#recover(open, error, failures);
        if (applied !== undefined) return applied;
        await sleep(timers, backOff(backOffMs, failures, randomness));
      }
    }
  }

  /** Nothing may be under way. */
  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    // The row is removed by others when this fails.
    await open.link.query(this.#options.statements.removeSession, [open.id]).catch(() => undefined);
    await open.link.close();
  }

  async #opened(): Promise<Open> {
    const { primary, randomness, statements, form, timers, acknowledgements } = this.#options;
    // Another connection may have found the loss: this one leads to the same database.
    if (acknowledgements.refusal !== undefined) throw acknowledgements.refusal;
    if (this.#open?.link.isLost === false) return this.#open;
    for (let failures = 1; ; failures += 1) {
      const link = await primary.connect(connectLimitMs, form.pipelines);
      try {
        await acknowledgements.assertKept(link);
        const id = String(randomness.bytes(sessionIdBytes).reduce((sum, byte) => sum * 256 + byte));
        await link.query(statements.openSession, [id]);
        this.#open = { link, id, batch: 0 };
        return this.#open;
      } catch (error) {
        link.cut();
        if (error instanceof StoreWriteError) throw error;
        if (!isAway(error)) throw refusal(error);
        if (failures >= attemptsMax) throw unavailable(error);
        await sleep(timers, backOff(backOffMs, failures, randomness));
      }
    }
  }

  /** What came of a batch that failed; undefined when nothing did and it may be tried again. */
  async #recover(
    open: Open,
    error: unknown,
    failures: number,
  ): Promise<readonly Outcome[] | undefined> {
    const kind = failureOf(error);
    if (kind === 'again' && failures < attemptsMax) return undefined;
    // A connection on which anything failed is not used again.
    this.#open = undefined;
    open.link.cut();
    if (kind === 'again' || kind === 'refused') throw refusal(error);
    return kind === 'lost' ? this.#resolve(open, error) : undefined;
  }

  /** Closes the session of a lost connection, and reads what it has applied. */
  async #resolve({ id, batch }: Open, lost: unknown): Promise<readonly Outcome[] | undefined> {
    for (let failures = 1; ; failures += 1) {
      let link: Link | undefined;
      try {
        link = await this.#options.primary.connectPatiently(resolveLimitMs);
        const outcomes = await this.#outcomeOn(link, id, batch);
        await link.close();
        if (outcomes !== undefined) this.#note(id, batch + 1, outcomes);
        return outcomes;
      } catch (error) {
        link?.cut();
        if (error instanceof StoreWriteError) throw error;
        const isOver = error instanceof StoreUnavailableError || error instanceof StoreClosedError;
        if (isOver || failures >= attemptsMax) throw unknownOutcome(lost);
      }
    }
  }

  /** What came of the batch behind `batch`; undefined when it is not applied, and never will be. */
  async #outcomeOn(link: Link, id: string, batch: number): Promise<readonly Outcome[] | undefined> {
    const { statements, acknowledgements } = this.#options;
    const [row] = await link.query(statements.closeSession, [id]);
    const last = row === undefined ? undefined : numberOf(row[0]);
    if (last === batch + 1) return decodeOutcomes(bytesOf(row?.[1]));
    invariant(last === undefined || last <= batch, 'a session applies one batch at a time');
    // The database has not got what the session had done before.
    if (last !== batch) await acknowledgements.assertKept(link);
    return undefined;
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
