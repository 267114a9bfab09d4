import { setMaxListeners } from 'node:events';
import { DatabaseError } from 'pg';
import { InFlight } from '../../base/async/in-flight.js';
import { retry } from '../../base/async/retry.js';
import { Slots } from '../../base/async/slots.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { isAway, unavailable } from './failures.js';
import type { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import type { Row } from './rows.js';
import type { Query } from './range-chunks.js';
import type { Statement } from './statements.js';

/**
 * How long a read waits for a server: less than the 30 s of a request, so that the request can
 * report it.
 */
const connectLimitMs = 20_000;
/** Attempts of a read that loses its connections. */
const attemptsMax = 5;
/** Reads wait for a free connection without a limit. */
const never = new AbortController().signal;
// Each waiting read adds a listener.
setMaxListeners(0, never);

/** Connections that are shared by reads of a single statement. */
export class SharedReaders {
  readonly #source: ConnectionSource;
  readonly #connections: (Promise<Connection> | undefined)[];
  #turn = 0;

  constructor(source: ConnectionSource, count: number) {
    this.#source = source;
    this.#connections = Array.from({ length: count });
  }

  async read(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const read = async () => (await this.#next()).query(statement, values);
    return retried(this.#source, read);
  }

  async close(): Promise<void> {
    const connections = this.#connections.splice(0);
    await Promise.all(
      connections.map(async (connection) => (await connection?.catch(() => undefined))?.close()),
    );
  }

  async #next(): Promise<Connection> {
    if (this.#connections.length === 0) throw new StoreClosedError();
    this.#turn = (this.#turn + 1) % this.#connections.length;
    const at = this.#turn;
    for (
      let opening = this.#connections[at];
      opening !== undefined;
      opening = this.#connections[at]
    ) {
      const connection = await opening.catch(() => undefined);
      if (connection?.isLost === false) return connection;
      // Another read may have replaced the connection meanwhile; then that one is used.
      if (this.#connections[at] === opening) break;
    }
    const opened = this.#source.connect(connectLimitMs, true);
    this.#connections[at] = opened;
    return opened;
  }
}

/** Reads by statements of one transaction, which all see one snapshot. */
export type SnapshotRead<T> = (query: Query) => Promise<T>;

const begin = 'begin isolation level repeatable read read only';

/** Connections for reads of several statements in one snapshot. Each has one read at a time. */
export class SnapshotReaders {
  readonly #source: ConnectionSource;
  readonly #idle: Connection[] = [];
  readonly #slots: Slots;
  /** Transactions whose reads have their results, and that are being ended. */
  readonly #ending = new InFlight();
  #isClosed = false;

  constructor(source: ConnectionSource, count: number) {
    this.#source = source;
    this.#slots = new Slots(count);
  }

  /** When the connection is lost, `work` is called again, as long as `mayRepeat` allows it. */
  async read<T>(work: SnapshotRead<T>, mayRepeat: () => boolean): Promise<T> {
    return retried(this.#source, () => this.#readOnce(work), mayRepeat);
  }

  /** Reads under way continue; their connections are closed after them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
    await this.#ending.none();
  }

  async #readOnce<T>(work: SnapshotRead<T>): Promise<T> {
    await this.#slots.take(1, never);
    let connection = this.#idle.pop();
    try {
      if (this.#isClosed) throw new StoreClosedError();
      if (connection === undefined || connection.isLost) {
        connection = await this.#source.connect(connectLimitMs, true);
      }
      const result = await inSnapshot(connection, work);
      void this.#ending.during(this.#end.bind(this, connection));
      return result;
    } catch (error) {
      const isOfCaller = connection?.isLost === false && !(error instanceof DatabaseError);
      connection?.destroy();
      this.#slots.give(1);
      // The cause has probably broken the idle connections too.
      if (!isOfCaller && isAway(error)) for (const idle of this.#idle.splice(0)) idle.destroy();
      throw isOfCaller ? new CallerError(error) : error;
    }
  }

  /**
   * Ends the transaction of a read, which has its result. No other read begins on the connection
   * before the answer: in a transaction that goes on it would see the old snapshot.
   */
  async #end(connection: Connection): Promise<void> {
    try {
      await connection.run('commit');
      if (this.#isClosed) await connection.close();
      else this.#idle.push(connection);
    } catch {
      connection.destroy();
    } finally {
      this.#slots.give(1);
    }
  }
}

/**
 * Sends the begin of a transaction together with the first query. Where the begin fails, that query
 * sees a snapshot of its own, so no query returns rows before the begin has succeeded.
 */
async function inSnapshot<T>(connection: Connection, work: SnapshotRead<T>): Promise<T> {
  const begun = connection.run(begin);
  const query: Query = async (statement, values) => {
    const [, rows] = await Promise.all([begun, connection.query(statement, values)]);
    return rows;
  };
  const [, result] = await Promise.all([begun, work(query)]);
  return result;
}

/** An error of the caller's own code, such as a guard that does not hold. */
class CallerError extends Error {
  override readonly name = 'CallerError';

  constructor(cause: unknown) {
    super('The caller of a read ended it.', { cause });
  }
}

/** Repeats a read after temporary failures. */
async function retried<T>(
  source: ConnectionSource,
  read: () => Promise<T>,
  mayRepeat = () => true,
): Promise<T> {
  const isRetryable = (error: unknown): boolean => isTemporary(error) && mayRepeat();
  try {
    return await retry({ ...source.retries, attemptsMax, isRetryable }, read);
  } catch (error) {
    if (error instanceof CallerError) throw error.cause;
    throw isTemporary(error) ? unavailable(error) : error;
  }
}

/** A source that finds no server has tried for long, so its error is final. */
function isTemporary(error: unknown): boolean {
  const isFinal =
    error instanceof CallerError ||
    error instanceof StoreClosedError ||
    error instanceof StoreUnavailableError;
  return !isFinal && isAway(error);
}
