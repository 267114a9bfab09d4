import type { Bytes } from './bytes.js';
import type { RowVersion } from './partition-rows.js';
import type { Statement } from './session.js';

/**
 * A partition of the cluster has the entries of one partition prefix of one store, and its head:
 * the row `headRow`, whose columns are `last`, `pending` and `marks`. An entry has a row for each
 * of its versions that a read may still need. `gone`: the entry was deleted with this version.
 */
const kvTable = (keyspace: string) => `create table if not exists ${keyspace}.kv (
  store text, prefix blob, row blob, version bigint, gone boolean, value blob,
  last bigint, pending blob, marks map<text, bigint>,
  primary key ((store, prefix), row, version)
) with clustering order by (row asc, version desc)`;

/** The order over partitions: the containers of a store (under an empty parent), their prefixes. */
const placesTable = (keyspace: string) => `create table if not exists ${keyspace}.places (
  store text, parent blob, child blob, primary key ((store, parent), child)
)`;

/**
 * `last`: no version above it was given out. Its time of writing is itself, so the greatest stays.
 */
const storesTable = (keyspace: string) => `create table if not exists ${keyspace}.stores (
  store text primary key, format int, last bigint
)`;

/** What makes each table in a keyspace. */
export const tables: readonly ((keyspace: string) => string)[] = [
  kvTable,
  placesTable,
  storesTable,
];

/** Before all entries, whose rows begin with 0x01. */
export const headRow: Bytes = Buffer.from([0]);
/** A mark is of use until the change that it belongs to has been decided. */
const markSeconds = 86_400;

const inPartition = 'store = ? and prefix = ?';
/** The head has a version because every row has one. */
const atHead = `where ${inPartition} and row = 0x00 and version = 0`;

/** Makes the statements of one store. */
export class Statements {
  readonly #store: string;

  constructor(store: string) {
    this.#store = store;
  }

  readHead(prefix: Bytes): Statement {
    const text = `select last, pending, marks from kv ${atHead}`;
    return { text, values: [this.#store, prefix] };
  }

  /** All versions of these rows. */
  readRows(prefix: Bytes, rows: readonly Bytes[], withValues: boolean): Statement {
    const columns = `row, version, gone, last, pending, marks${withValues ? ', value' : ''}`;
    const text = `select ${columns} from kv where ${inPartition} and row in ?`;
    return { text, values: [this.#store, prefix, rows] };
  }

  /** All versions of the rows from one to before another. */
  readBetween(prefix: Bytes, from: Bytes, to: Bytes, reverse: boolean): Statement {
    const order = reverse ? 'row desc, version asc' : 'row asc, version desc';
    const text =
      `select row, version, gone, value from kv ` +
      `where ${inPartition} and row >= ? and row < ? order by ${order}`;
    return { text, values: [this.#store, prefix, from, to] };
  }

  /** Replaces the head that has `last` = `before`; undefined: that is not there. */
  replaceHead(
    prefix: Bytes,
    before: number | undefined,
    after: { readonly last: number; readonly pending: Bytes | undefined },
  ): Statement {
    const text = `update kv set last = ?, pending = ? ${atHead} if last = ?`;
    const condition = before === undefined ? null : BigInt(before);
    const { last, pending = null } = after;
    return { text, values: [BigInt(last), pending, this.#store, prefix, condition] };
  }

  /** Says whose change was the last of a process. */
  mark(prefix: Bytes, process: string, mark: number): Statement {
    const text = `update kv using ttl ${markSeconds} set marks[?] = ? ${atHead}`;
    return { text, values: [process, BigInt(mark), this.#store, prefix] };
  }

  putRow(prefix: Bytes, { row, version, value }: RowVersion): Statement {
    const column = value === undefined ? 'gone' : 'value';
    const text = `insert into kv (store, prefix, row, version, ${column}) values (?, ?, ?, ?, ?)`;
    return { text, values: [this.#store, prefix, row, BigInt(version), value ?? true] };
  }

  /** Removes the versions of an entry up to one, which is included. */
  removeRows(prefix: Bytes, row: Bytes, version: number): Statement {
    const text = `delete from kv where ${inPartition} and row = ? and version <= ?`;
    return { text, values: [this.#store, prefix, row, BigInt(version)] };
  }

  addChild(parent: Bytes, child: Bytes): Statement {
    const text = 'insert into places (store, parent, child) values (?, ?, ?)';
    return { text, values: [this.#store, parent, child] };
  }

  /** The children from one to before another; `to` undefined: to the end. */
  readChildren(parent: Bytes, from: Bytes, to: Bytes | undefined, reverse: boolean): Statement {
    const before = to === undefined ? '' : ' and child < ?';
    const text =
      `select child from places where store = ? and parent = ? and child >= ?${before} ` +
      `order by child ${reverse ? 'desc' : 'asc'}`;
    return { text, values: [this.#store, parent, from, ...(to === undefined ? [] : [to])] };
  }

  /** The last child up to this one. */
  readChildUpTo(parent: Bytes, child: Bytes): Statement {
    const text =
      'select child from places where store = ? and parent = ? and child <= ? ' +
      'order by child desc limit 1';
    return { text, values: [this.#store, parent, child] };
  }

  /** The first process writes the format; it has a place before every later one. */
  writeFormat(format: number): Statement {
    const text = 'insert into stores (store, format) values (?, ?) using timestamp ?';
    return { text, values: [this.#store, format, BigInt(format)] };
  }

  raiseLast(last: number): Statement {
    const text = 'insert into stores (store, last) values (?, ?) using timestamp ?';
    return { text, values: [this.#store, BigInt(last), BigInt(last)] };
  }

  readStore(): Statement {
    return { text: 'select format, last from stores where store = ?', values: [this.#store] };
  }
}
