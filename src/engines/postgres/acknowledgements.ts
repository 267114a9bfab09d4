import type { Clock } from '../../base/clock.js';
import { StoreWriteError } from '../../kv/errors.js';
import { int8Array } from './binary-array.js';
import type { Connection } from './connection.js';
import { mayBeRemoved, readClocks, type ClockReading } from './row-age.js';
import { numberOf } from './rows.js';
import type { Statements } from './statements.js';

/** Commits that were acknowledged and that the current primary lacks. */
export interface Loss {
  /** The number of lost commits of this process that it knows of: at least 1. */
  readonly commits: number;
  /** The greatest version of the lost commits. */
  readonly acknowledged: number;
  /** The greatest version in the database. */
  readonly last: number;
}

/** A batch with at least one applied commit. */
export interface AcknowledgedBatch {
  readonly session: string;
  /** Its number in the session. */
  readonly batch: number;
  readonly commits: number;
  /** The greatest version of its commits. */
  readonly version: number;
}

interface RememberedBatch extends AcknowledgedBatch {
  readonly at: ClockReading;
}

export interface AcknowledgementsOptions {
  readonly statements: Statements;
  readonly clock: Clock;
  /** Whether commits go on after a loss was reported. */
  readonly accepts: boolean;
  readonly onLoss: (error: Error, loss: Loss) => void;
}

/**
 * The number of batches that are remembered, besides the last one of each session. Older ones need
 * no check: their session sent its next batch after their acknowledgement, and a standby that has
 * the later batch has the earlier ones.
 */
const keptMax = 1_000;
/**
 * Remembers the batches that this process has acknowledged, to detect that a promoted standby lacks
 * some. A standby replays the log of its primary in order, and every batch writes the row of its
 * session. So that row tells whether a batch is present, whatever other servers have committed
 * since.
 */
export class Acknowledgements {
  readonly #options: AcknowledgementsOptions;
  #recent: RememberedBatch[] = [];
  /** The last batch of each session, which need not be among the recent ones. */
  readonly #lastOf = new Map<string, RememberedBatch>();
  #greatest = 0;
  #losses = 0;
  #refusal: StoreWriteError | undefined;

  constructor(options: AcknowledgementsOptions) {
    this.#options = options;
  }

  /** Why all further commits are refused; undefined while they are not. */
  get refusal(): StoreWriteError | undefined {
    return this.#refusal;
  }

  /** Whether a loss was found, accepted or not. */
  get hasLost(): boolean {
    return this.#losses > 0;
  }

  note(batch: AcknowledgedBatch): void {
    this.#greatest = Math.max(this.#greatest, batch.version);
    const kept = { ...batch, at: readClocks(this.#options.clock) };
    this.#recent.push(kept);
    this.#lastOf.set(batch.session, kept);
    if (this.#recent.length > keptMax * 2) this.#trim();
  }

  /**
   * Checks that the database has what was acknowledged. Rejects with `StoreWriteError` when it
   * lacks commits, unless losses are accepted.
   */
  async assertKept(connection: Pick<Connection, 'query'>): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal;
    // Copied before the query: batches that are acknowledged during it may be missing from its
    // result.
    const kept = this.#evidence();
    const greatest = this.#greatest;
    const losses = this.#losses;
    const [last, present] = await this.#read(connection, kept);
    const lost = kept.filter(({ session, batch }) => batch > (present.get(session) ?? 0));
    if (lost.length === 0 && last >= greatest) return;
    // Another connection may have reported the same loss meanwhile.
    const { refusal } = this;
    if (refusal !== undefined) throw refusal;
    if (this.#losses === losses) this.#tell(lost, last);
  }

  /** As `assertKept`, but only reports a loss: reads go on. */
  async reportLoss(connection: Pick<Connection, 'query'>): Promise<void> {
    if (this.#refusal !== undefined) return;
    try {
      await this.assertKept(connection);
    } catch (error) {
      if (error !== this.#refusal) throw error;
    }
  }

  #evidence(): readonly RememberedBatch[] {
    const { clock } = this.#options;
    const kept = new Set([...this.#lastOf.values(), ...this.#recent.slice(-keptMax)]);
    return [...kept].filter(({ at }) => !mayBeRemoved(at, clock));
  }

  #trim(): void {
    this.#recent = this.#recent.slice(-keptMax);
    for (const [session, { at }] of this.#lastOf) {
      if (mayBeRemoved(at, this.#options.clock)) this.#lastOf.delete(session);
    }
  }

  #forget(lost: readonly RememberedBatch[]): void {
    this.#recent = this.#recent.filter((each) => !lost.includes(each));
    for (const each of lost) {
      if (this.#lastOf.get(each.session) === each) this.#lastOf.delete(each.session);
    }
  }

  async #read(
    connection: Pick<Connection, 'query'>,
    kept: readonly RememberedBatch[],
  ): Promise<readonly [last: number, present: ReadonlyMap<string, number>]> {
    const { lastVersion, batchesOf } = this.#options.statements;
    const sessions = [...new Set(kept.map(({ session }) => session))];
    const rows = await connection.query(batchesOf, [int8Array(sessions.map(Number))]);
    const [row] = await connection.query(lastVersion, []);
    const present = new Map(rows.map(([id, batch]) => [String(numberOf(id)), numberOf(batch)]));
    return [numberOf(row?.[0]), present];
  }

  #tell(lost: readonly RememberedBatch[], last: number): void {
    const { accepts, onLoss } = this.#options;
    const ofBatches = lost.reduce((sum, { commits }) => sum + commits, 0);
    const loss: Loss = {
      commits: Math.max(1, ofBatches),
      acknowledged:
        lost.reduce((most, { version }) => Math.max(most, version), 0) || this.#greatest,
      last,
    };
    const error = lossError(loss);
    this.#losses += 1;
    if (accepts) {
      this.#forget(lost);
      this.#greatest = Math.min(this.#greatest, last);
    } else this.#refusal = error;
    onLoss(error, loss);
    if (!accepts) throw error;
  }
}

function lossError({ commits, acknowledged, last }: Loss): StoreWriteError {
  const which = commits === 1 ? 'one commit' : `${commits} commits`;
  return new StoreWriteError(
    `Commits are lost: version ${acknowledged} was acknowledged, and the database that takes writes ` +
      `now, which ends at ${last}, lacks ${which} up to it, or more. Restore what is missing, then ` +
      'start this server again.',
  );
}
