import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { holdingTimers, systemTimers, type Timers } from '../../base/async/timers.js';
import { codeOf } from '../../base/thrown.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { StoreClosedError, type StoreUnavailableError } from '../../kv/errors.js';
import type { Guarded, GuardedBatch, GuardedRangeOptions } from '../../kv/guards.js';
import { assertIngestion, type Ingestion } from '../../kv/ingestion.js';
import { assertBatch, assertKey } from '../../kv/limits.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { CommitStats } from '../../kv/pending-commits.js';
import { sampleByReading, type RangeSample, type SampleOptions } from '../../kv/sample.js';
import type { ServedStore } from '../../kv/served-store.js';
import type { CommitBatch, CommitResult, Entry, KeyRange, RangePage } from '../../kv/store.js';
import { Acknowledgements, type Loss } from './acknowledgements.js';
import { GroupCommit } from './group-commit.js';
import { DatabaseError, fullCode } from './database-error.js';
import { addressesOf, isUnprepared } from './hosts.js';
import type { Connection } from './connection.js';
import { assertTables, migrate } from './migrations.js';
import type { CommitForm } from './commit-form.js';
import { functionForm } from './function-form.js';
import { heartbeat } from './heartbeat.js';
import type { PeriodicWork } from './periodic-work.js';
import { transactionForm } from './transaction-form.js';
import { Primary } from './primary.js';
import { rulesOf, type Product } from './product.js';
import { Reads } from './reads.js';
import { numberOf } from './rows.js';
import { assertUnshared } from './unshared.js';
import { sessionSweep, sweepSessions } from './session-sweep.js';
import { Session } from './session.js';
import { statementsFor, type Statements } from './statements.js';
import { WatchedPrimary } from './watched-primary.js';

/** Events of a store. */
export interface PostgresEvents {
  /** Called when no server takes writes any more, and with undefined when one does again. */
  trouble(trouble: StoreUnavailableError | undefined): void;
  /** Called when the database has lost acknowledged commits. */
  lostCommits(error: Error, loss: Loss): void;
  /**
   * Called when the database refuses a heartbeat, and not again until it has taken one. Not called
   * while the database is away.
   */
  noHeartbeat(error: unknown): void;
  /** As `noHeartbeat`, for the removal of rows of old sessions. */
  noSweep(error: unknown): void;
}

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port,host:port/name`; the first host that takes writes. */
  readonly url: string;
  /** The schema of its tables, which is made when it is absent. */
  readonly schema?: string;
  /** Whether the tables are made when they are absent (the default). */
  readonly creates?: boolean;
  readonly clock: Clock;
  /**
   * `durable` (the default): a commit resolves when the database has synced it. `relaxed`: a crash
   * of the database may lose the last ones.
   */
  readonly durability?: 'durable' | 'relaxed';
  /**
   * What to do when a promoted standby lacks acknowledged commits: `refuse` (the default) all
   * further commits, or `accept` the loss. Either way the loss is reported.
   */
  readonly onLostCommits?: 'refuse' | 'accept';
  /**
   * How commits are applied. `function`: by a function in the database, in one round trip.
   * `transaction`: by plain statements, in two. Stores of both forms may share a database. Default:
   * `function` where the product has it.
   */
  readonly commitForm?: CommitFormName | undefined;
  /**
   * The product whose tables and rules are used. Default: the one that the server names. Tests use
   * the rules of CockroachDB with PostgreSQL.
   */
  readonly product?: Product | undefined;
  /** Whether to write heartbeats, by which standbys show how far they are. */
  readonly beats?: boolean;
  /**
   * Whether statements are prepared. Not possible behind poolers that share connections among
   * clients. Default: true, unless the URL says `prepare=false`.
   */
  readonly prepares?: boolean;
  /**
   * After this time the database ends a transaction whose process sends nothing, and frees what it
   * has locked. Default: 20 s.
   */
  readonly idleInTransactionMs?: number;
  readonly events?: Partial<PostgresEvents>;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

export type CommitFormName = 'function' | 'transaction';

const forms: Readonly<Record<CommitFormName, (statements: Statements) => CommitForm>> = {
  function: functionForm,
  transaction: transactionForm,
};

/**
 * The number of writing connections: more than two, so that one is prepared while others wait for
 * the disk.
 */
const writers = 3;
/** How long an opening waits for a server. */
const openLimitMs = 10_000;
const standardSchema = 'tabularium';

/** Throws `DatabaseError` when the database cannot be used. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const addresses = addressesOf(options.url);
  if (addresses === undefined) {
    throw new DatabaseError(
      'The address of the database is no URL of the form postgres://user:password@host:5432/name.',
    );
  }
  const { clock, timers = systemTimers, randomness = systemRandomness, events = {} } = options;
  const { schema = standardSchema, creates = true, durability = 'durable' } = options;
  const prepares = options.prepares ?? !isUnprepared(options.url);
  const onTrouble = (trouble: StoreUnavailableError | undefined) => events.trouble?.(trouble);
  const isRelaxed = durability === 'relaxed';
  const { idleInTransactionMs } = options;
  const own = { addresses, prepares, isRelaxed, idleInTransactionMs };
  const primary = new Primary({ ...own, clock, timers, randomness, onTrouble });
  let connection: Connection | undefined;
  // Keeps the process alive: the timers between two attempts do not.
  const holding = holdingTimers.start(openLimitMs * 2, () => undefined, undefined);
  try {
    connection = await primary.connectFirst(openLimitMs);
    if (prepares && rulesOf(connection.product).namesProcesses) {
      await assertUnshared(connection, () => primary.connectFirst(openLimitMs));
    }
    const { product = connection.product } = options;
    const commitForm = commitFormFor(product, options.commitForm);
    if (!creates) await assertTables(connection, schema);
    await migrate(connection, schema, product);
    const statements = statementsFor(schema, !isRelaxed && rulesOf(product).tellsDurability);
    await sweepSessions(connection, statements);
    return new PostgresStore({ ...options, commitForm, timers, randomness }, primary, statements);
  } catch (error) {
    primary.close();
    throw DatabaseError.of(error);
  } finally {
    holding.close();
    await connection?.close();
  }
}

/** Throws `DatabaseError` when the product does not support the requested form. */
function commitFormFor(product: Product, asked: CommitFormName | undefined): CommitFormName {
  const { hasFunctions } = rulesOf(product);
  if (asked === 'function' && !hasFunctions) {
    throw new DatabaseError(
      `${product} lacks the function that applies commits: start without --postgres-commits, or with ` +
        '--postgres-commits transaction.',
    );
  }
  return asked ?? (hasFunctions ? 'function' : 'transaction');
}

type Options = PostgresStoreOptions & {
  readonly [Name in 'timers' | 'randomness' | 'commitForm']: NonNullable<
    PostgresStoreOptions[Name]
  >;
};

/** A store in a PostgreSQL database, which other processes and machines may have open as well. */
export class PostgresStore implements MemberStore, ServedStore {
  readonly versionsGlobal = false;
  readonly #options: Options;
  readonly #primary: Primary;
  readonly #statements: Statements;
  readonly #reads: Reads;
  readonly #periodic: readonly PeriodicWork[];
  readonly #sessions: readonly Session[];
  readonly #commits: GroupCommit;
  readonly #acknowledgements: Acknowledgements;
  #closing: Promise<void> | undefined;

  constructor(options: Options, primary: Primary, statements: Statements) {
    const { timers, randomness, clock } = options;
    this.#options = options;
    this.#primary = primary;
    this.#statements = statements;
    const { onLostCommits, events } = options;
    this.#acknowledgements = new Acknowledgements({
      statements,
      clock,
      accepts: onLostCommits === 'accept',
      onLoss: (error, loss) => events?.lostCommits?.(error, loss),
    });
    this.#reads = new Reads(new WatchedPrimary(primary, this.#acknowledgements), statements);
    this.#periodic = this.#periodicWork();
    const form = forms[options.commitForm](statements);
    const acknowledgements = this.#acknowledgements;
    const parts = { primary, statements, form, clock, timers, randomness, acknowledgements };
    this.#sessions = Array.from({ length: writers }, () => new Session(parts));
    this.#commits = new GroupCommit({ sessions: this.#sessions, form, clock });
  }

  async get(key: Bytes, options?: Guarded): Promise<Entry | undefined> {
    this.#assertOpen();
    return this.#reads.get(key, options);
  }

  async getMany(keys: readonly Bytes[], options?: Guarded): Promise<(Entry | undefined)[]> {
    this.#assertOpen();
    return this.#reads.getMany(keys, options);
  }

  async range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage> {
    this.#assertOpen();
    return this.#reads.range(range, options);
  }

  async commit(batch: GuardedBatch): Promise<CommitResult> {
    return this.#commit(batch, false);
  }

  /** Locks all slots, so that every commit that saw an older guard has ended. */
  async fence(batch: CommitBatch): Promise<CommitResult> {
    return this.#commit(batch, true);
  }

  async ingest(ingestion: Ingestion): Promise<void> {
    this.#assertOpen();
    assertIngestion(ingestion);
    await this.#commits.carryOut({ kind: 'ingest', ingestion });
  }

  async sample(range: KeyRange, cuts: number, options?: SampleOptions): Promise<RangeSample> {
    const { clock } = this.#options;
    return sampleByReading(this, range, { ...options, cuts, clock });
  }

  async lastVersion(): Promise<number> {
    this.#assertOpen();
    const [row] = await this.#reads.query(this.#statements.lastVersion, []);
    return numberOf(row?.[0]);
  }

  trouble(): Error | undefined {
    const { refusal } = this.#acknowledgements;
    const { trouble } = this.#primary;
    return refusal ?? (this.#servesBeside(trouble) ? undefined : trouble);
  }

  hasLost(): boolean {
    return this.#acknowledgements.hasLost;
  }

  /** The number of settled commits since the store was opened, and of batches that wrote them. */
  stats(): CommitStats {
    return this.#commits.stats();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #commit(batch: GuardedBatch, isFence: boolean): Promise<CommitResult> {
    this.#assertOpen();
    assertBatch(batch);
    if (batch.guard !== undefined) assertKey(batch.guard.key);
    const { refusal } = this.#acknowledgements;
    if (refusal !== undefined) throw refusal;
    return this.#commits.carryOut({ kind: 'commit', batch }, isFence);
  }

  async #close(): Promise<void> {
    await this.#commits.drained();
    this.#primary.close();
    await Promise.all(this.#periodic.map((each) => each.close()));
    // Readers close first: they check the rows of sessions and would report their removal as a
    // loss.
    await this.#reads.close();
    await Promise.all(this.#sessions.map((session) => session.close()));
  }

  #periodicWork(): readonly PeriodicWork[] {
    const { beats = false, timers, events } = this.#options;
    const parts = { source: this.#primary, timers };
    const statements = this.#statements;
    const onRefused = (error: unknown) => events?.noSweep?.(error);
    const sweep = sessionSweep({ ...parts, statements, onRefused });
    if (!beats) return [sweep];
    const noHeartbeat = (error: unknown) => events?.noHeartbeat?.(error);
    const statement = statements.beat;
    return [sweep, heartbeat({ ...parts, statement, onRefused: noHeartbeat })];
  }

  /** Whether writes go on in spite of a trouble: the database only takes no more connections. */
  #servesBeside(trouble: StoreUnavailableError | undefined): boolean {
    const isFull = codeOf(trouble?.cause) === fullCode;
    return isFull && this.#sessions.some(({ isOpen }) => isOpen);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreClosedError();
  }
}
