import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';

/** Writers at the same time. */
const writers = 3;
/** Partitions, from `a` on. Cuts at letters leave some on both sides. */
const partitions = 'abcdefghijklmnopqrstuvwxyz';
/** Much more than a server takes to be started anew on a busy machine. */
const retryOptions = { maxRetries: 100, retryDelayInMs: 50, maxRetryDelayInMs: 1_000 };

/** Writes rows as clients that repeat requests do, and never sees one that fails. */
export class SteadyWriters {
  readonly #table: TableClient;
  /** The etag that each row was acknowledged with, by `partition/row`. */
  readonly #acknowledged = new Map<string, string | undefined>();
  readonly #over = new AbortController();
  #works: Promise<unknown> = Promise.resolve();

  private constructor(table: TableClient) {
    this.#table = table;
  }

  /** Makes the table and begins to write. */
  static async start(connectionString: string, table: string): Promise<SteadyWriters> {
    const client = TableClient.fromConnectionString(connectionString, table, {
      allowInsecureConnection: true,
      retryOptions,
    });
    await client.createTable();
    const started = new SteadyWriters(client);
    started.#works = Promise.all(Array.from({ length: writers }, (_, at) => started.#write(at)));
    // `stop` tells of it.
    started.#works.catch(() => undefined);
    return started;
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** Resolves when this many more rows were written. Rejects when a request has failed. */
  async more(rows: number): Promise<void> {
    const enough = this.acknowledged + rows;
    const written = async (): Promise<void> => {
      while (this.acknowledged < enough && !this.#over.signal.aborted) await pause(5);
    };
    await Promise.race([written(), this.#works]);
    assert.ok(this.acknowledged >= enough, 'the writers are over');
  }

  /** Ends writing. Rejects when a request has failed, however often it was repeated. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#works;
  }

  /** Each acknowledged row is there once with its etag, and no other. */
  async check(): Promise<void> {
    const found: [string, string][] = [];
    for await (const { partitionKey, rowKey, etag } of this.#table.listEntities()) {
      found.push([`${partitionKey ?? ''}/${rowKey ?? ''}`, etag]);
    }
    const places = found.map(([place]) => place);
    assert.deepEqual(places, [...this.#acknowledged.keys()].toSorted());
    assert.deepEqual(new Map(found), this.#acknowledged);
  }

  async #write(writer: number): Promise<void> {
    for (let serial = 0; !this.#over.signal.aborted; serial += 1) {
      const partitionKey = partitions[serial % partitions.length] ?? 'a';
      const rowKey = `${writer}-${serial}`;
      try {
        // Can be sent again when its answer was lost.
        const { etag } = await this.#table.upsertEntity(
          { partitionKey, rowKey, serial },
          'Replace',
        );
        this.#acknowledged.set(`${partitionKey}/${rowKey}`, etag);
      } catch (error) {
        this.#over.abort();
        throw error;
      }
    }
  }
}
