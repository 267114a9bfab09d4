import { setTimeout as pause } from 'node:timers/promises';
import { Client, errors, policies, types } from 'cassandra-driver';
import { StoreUnavailableError, StoreWriteError } from 'tabularium/kv';

/** A statement with its parameters; every `?` has one. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A row by the names of its columns: `bigint`s for numbers of 64 bits, `Buffer`s for bytes. */
export type Row = Readonly<Record<string, unknown>>;

export interface RowsPage {
  readonly rows: readonly Row[];
  /** Reads what follows; absent at the end. */
  readonly next: string | undefined;
}

/**
 * Statements of a cluster. Reads and writes are tried again for some seconds, then rejected with
 * `StoreUnavailableError`.
 */
export interface Session {
  /** Reads within one partition, in the order of all its changes, and settles those under way. */
  readInOrder(statement: Statement): Promise<readonly Row[]>;
  /** Shows every write and every change that was acknowledged before. */
  readPage(statement: Statement, rowsMax: number, from?: string): Promise<RowsPage>;
  /** An unconditional write, which may be repeated. */
  write(statement: Statement): Promise<void>;
  /**
   * Applies all statements or none: those of one partition, of which one has a condition. Answers
   * whether the condition held. Sent once; `StoreUnavailableError` and `StoreWriteError` say that
   * nothing was applied, any other error leaves it open.
   */
  change(statements: readonly Statement[]): Promise<boolean>;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Nodes to begin with: `host` or `host:port`. */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  readonly credentials?: { readonly username: string; readonly password: string };
}

const attemptsMax = 6;
const firstPauseMs = 50;
const answerTimeoutMs = 15_000;

export async function openSession(options: SessionOptions): Promise<CassandraSession> {
  const { contactPoints, localDataCenter, credentials } = options;
  const client = new Client({
    contactPoints: [...contactPoints],
    localDataCenter,
    ...(credentials !== undefined && { credentials }),
    encoding: { useBigIntAsLong: true, copyBuffer: true },
    socketOptions: { readTimeout: answerTimeoutMs, connectTimeout: answerTimeoutMs },
    policies: { retry: new policies.retry.FallthroughRetryPolicy() },
  });
  try {
    await client.connect();
  } catch (error) {
    await client.shutdown();
    throw new StoreUnavailableError(`No node of ${contactPoints.join(', ')} answers.`, {
      cause: error,
    });
  }
  return new CassandraSession(client);
}

export class CassandraSession implements Session {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** The rows that each node has by itself, of those that are up. */
  async runOnEach(text: string): Promise<readonly Row[]> {
    const found: Row[] = [];
    for (const host of this.#client.hosts.values()) {
      if (!host.isUp()) continue;
      const { rows } = await repeated(() => this.#client.execute(text, [], { host }));
      found.push(...rows);
    }
    return found;
  }

  /** A statement of the schema, or a read of it, which may be repeated. */
  async run(text: string): Promise<readonly Row[]> {
    return (await repeated(() => this.#client.execute(text))).rows;
  }

  async readInOrder({ text, values }: Statement): Promise<readonly Row[]> {
    const consistency = types.consistencies.serial;
    const options = { prepare: true, consistency, isIdempotent: true, fetchSize: 0 };
    const { rows } = await repeated(() => this.#client.execute(text, [...values], options));
    return rows;
  }

  async readPage({ text, values }: Statement, rowsMax: number, from?: string): Promise<RowsPage> {
    const result = await repeated(() =>
      this.#client.execute(text, [...values], {
        prepare: true,
        consistency: types.consistencies.quorum,
        isIdempotent: true,
        fetchSize: rowsMax,
        ...(from !== undefined && { pageState: from }),
      }),
    );
    return { rows: result.rows, next: result.pageState ?? undefined };
  }

  async write({ text, values }: Statement): Promise<void> {
    const consistency = types.consistencies.quorum;
    const options = { prepare: true, consistency, isIdempotent: true };
    await repeated(() => this.#client.execute(text, [...values], options));
  }

  async change(statements: readonly Statement[]): Promise<boolean> {
    const queries = statements.map(({ text, values }) => ({ query: text, params: [...values] }));
    const options = {
      prepare: true,
      consistency: types.consistencies.quorum,
      serialConsistency: types.consistencies.serial,
    };
    try {
      return (await this.#client.batch(queries, options)).wasApplied();
    } catch (error) {
      if (error instanceof errors.NoHostAvailableError) throw unavailable(error);
      if (isRefusal(error)) {
        throw new StoreWriteError(`Cassandra refuses a commit: ${String(error)}`, { cause: error });
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#client.shutdown();
  }
}

async function repeated<Result>(send: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (isRefusal(error)) throw error;
      if (attempt === attemptsMax) throw unavailable(error);
      await pause(firstPauseMs * 2 ** attempt);
    }
  }
}

/** Errors from here on say that a statement is wrong or not allowed: it was not carried out. */
const refusalsFrom = 0x2000;

function isRefusal(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.code >= refusalsFrom;
}

function unavailable(cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`The cluster does not answer: ${String(cause)}`, { cause });
}
