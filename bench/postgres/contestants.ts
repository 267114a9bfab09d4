import { Client } from 'pg';
import { systemClock } from '../../src/base/clock.js';
import { byteaArray, int8Array } from '../../src/engines/postgres/binary-array.js';
import { openPostgresStore, type PostgresStore } from '../../src/engines/postgres/store.js';
import { batchRows, callers, rangeRows, type ComparedKind } from './kinds.js';
import { insertion, keyOf, rowValue } from './rows.js';

/** Makes one call, and returns the number of operations in it. Throws when the answer is wrong. */
type Call = () => Promise<number>;

export interface Contestant {
  next(kind: ComparedKind): Promise<number>;
  close(): Promise<void>;
}

const partitions = 997;
/** Partitions with rows to be read. */
const readPartitions = 40;
const readRows = 1_000;
const pageBytesMax = 4 * 1024 * 1024;

/** The number of the next row; rows of neighbouring numbers are in other partitions. */
class Numbers {
  #written = 0;
  #read = 0;

  newKey(): Buffer {
    this.#written += 1;
    return keyOf(`p${this.#written % partitions}`, this.#written);
  }

  /** The partition and row of an existing entry that has this number of entries behind it. */
  place(behind: number): readonly [partition: string, row: number] {
    this.#read += 1;
    const row = (this.#read * 7_919) % (readRows - behind);
    return [`read${this.#read % readPartitions}`, row];
  }
}

function expectRows(found: number, expected: number): number {
  if (found !== expected) throw new Error(`${found} rows were found, not ${expected}.`);
  return found;
}

/** The engine, as a server uses it. */
export class EngineContestant implements Contestant {
  readonly #store: PostgresStore;
  readonly #numbers = new Numbers();
  readonly #calls: Readonly<Record<ComparedKind, Call>>;

  private constructor(store: PostgresStore) {
    this.#store = store;
    const numbers = this.#numbers;
    this.#calls = {
      insert: async () => {
        const { ok } = await store.commit(insertion(numbers.newKey()));
        if (!ok) throw new Error('A row that was not there was found.');
        return 1;
      },
      get: async () => {
        const entry = await store.get(keyOf(...numbers.place(0)));
        return expectRows(entry === undefined ? 0 : 1, 1);
      },
      range: async () => {
        const start = keyOf(...numbers.place(rangeRows));
        const options = { limit: rangeRows, bytesMax: pageBytesMax };
        const { entries } = await store.range({ start }, options);
        expectRows(entries.length, rangeRows);
        return 1;
      },
    };
  }

  static async open(url: string, schema: string): Promise<EngineContestant> {
    return new EngineContestant(await openPostgresStore({ url, schema, clock: systemClock }));
  }

  /** Writes the rows that reads need. */
  async fill(): Promise<void> {
    for (let partition = 0; partition < readPartitions; partition += 1) {
      const puts = Array.from({ length: readRows }, (_, row) => ({
        key: keyOf(`read${partition}`, row),
        value: rowValue(),
      }));
      await this.#store.commit({ checks: [], puts, deletes: [] });
    }
  }

  next(kind: ComparedKind): Promise<number> {
    return this.#calls[kind]();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

/** Columns are not parsed. */
const asIs = { getTypeParser: () => (field: unknown) => field };

/** The driver alone, with the shortest statements that read and write the same rows. */
export class DriverContestant implements Contestant {
  readonly #writers: readonly Client[];
  readonly #readers: readonly Client[];
  readonly #numbers = new Numbers();
  readonly #calls: Readonly<Record<ComparedKind, Call>>;
  #turn = 0;

  private constructor(
    writers: readonly Client[],
    readers: readonly Client[],
    names: { readonly kv: string; readonly raw: string },
  ) {
    this.#writers = writers;
    this.#readers = readers;
    const numbers = this.#numbers;
    const insert = `insert into ${names.raw} (key, version, value)
      select * from unnest($1::bytea[], $2::bigint[], $3::bytea[]) rows(key, version, value)
      order by 1`;
    const get = `select version, value from ${names.kv} where key = $1`;
    const range = `select key, version, value from ${names.kv} where key >= $1
      order by key limit ${rangeRows}`;
    const read = { binary: true, rowMode: 'array', types: asIs } as const;
    this.#calls = {
      insert: async () => {
        const keys = Array.from({ length: batchRows }, () => numbers.newKey());
        const versions = int8Array(keys.map((_, index) => index + 1));
        const values = [byteaArray(keys), versions, byteaArray(keys.map(rowValue))];
        await this.#of(this.#writers).query({ name: 'insert', text: insert, values });
        return batchRows;
      },
      get: async () => {
        const values = [keyOf(...numbers.place(0))];
        const { rows } = await this.#of(this.#readers).query({
          ...read,
          name: 'get',
          text: get,
          values,
        });
        return expectRows(rows.length, 1);
      },
      range: async () => {
        const values = [keyOf(...numbers.place(rangeRows))];
        const { rows } = await this.#of(this.#readers).query({
          ...read,
          name: 'range',
          text: range,
          values,
        });
        expectRows(rows.length, rangeRows);
        return 1;
      },
    };
  }

  /** `schema`: that of an engine that has filled it. */
  static async open(url: string, schema: string): Promise<DriverContestant> {
    const connect = async (pipeline: boolean): Promise<Client> => {
      const client = new Client({ connectionString: url, pipeline });
      await client.connect();
      return client;
    };
    const writers = await Promise.all([connect(false), connect(false)]);
    const readers = await Promise.all([connect(true), connect(true)]);
    const names = { kv: `${schema}.kv`, raw: `${schema}.raw` };
    await writers[0].query(`create table ${names.raw} (like ${names.kv} including all)`);
    return new DriverContestant(writers, readers, names);
  }

  next(kind: ComparedKind): Promise<number> {
    return this.#calls[kind]();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers, ...this.#readers].map((client) => client.end()));
  }

  #of(clients: readonly Client[]): Client {
    this.#turn += 1;
    const client = clients[this.#turn % clients.length];
    if (client === undefined) throw new Error('There are no connections.');
    return client;
  }
}

/** Calls under way at a time. */
export function callersOf(kind: ComparedKind, contestant: Contestant): number {
  return callers[kind][contestant instanceof EngineContestant ? 'engine' : 'driver'];
}
