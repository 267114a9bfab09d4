import { asBuffer, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import {
  guardRefusal,
  type Guard,
  type Guarded,
  type GuardedRangeOptions,
} from '../../kv/guards.js';
import { assertKey, assertRangeOptions } from '../../kv/limits.js';
import type { Entry, KeyRange, RangePage } from '../../kv/store.js';
import { guardParameters, hashOf, isLongKey, keyArrays } from './long-keys.js';
import { readPage } from './pages.js';
import type { ConnectionSource } from './connection-source.js';
import { SharedReaders, SnapshotReaders } from './readers.js';
import { bytesOf, numberOf, versionOf, type Row } from './rows.js';
import type { Statement, Statements } from './statements.js';

const connections = { shared: 2, snapshots: 4 } as const;

/** The reads of a store, from the servers of one source of connections. */
export class Reads {
  readonly #statements: Statements;
  readonly #shared: SharedReaders;
  readonly #snapshots: SnapshotReaders;

  constructor(source: ConnectionSource, statements: Statements) {
    this.#statements = statements;
    this.#shared = new SharedReaders(source, connections.shared);
    this.#snapshots = new SnapshotReaders(source, connections.snapshots);
  }

  async get(key: Bytes, options?: Guarded): Promise<Entry | undefined> {
    assertKey(key);
    if (options?.guard !== undefined) {
      const [entry] = await this.getMany([key], options);
      return entry;
    }
    const { get, getLong } = this.#statements;
    const [row] = await (isLongKey(key)
      ? this.#shared.read(getLong, [hashOf(key)])
      : this.#shared.read(get, [asBuffer(key)]));
    if (row === undefined) return undefined;
    return { key: Buffer.from(key), version: numberOf(row[0]), value: bytesOf(row[1]) };
  }

  async getMany(keys: readonly Bytes[], options?: Guarded): Promise<(Entry | undefined)[]> {
    for (const key of keys) assertKey(key);
    const values = keyArrays(keys);
    const { getMany, getManyGuarded } = this.#statements;
    const guard = options?.guard;
    if (guard !== undefined) assertKey(guard.key);
    const rows = await (guard === undefined
      ? this.#shared.read(getMany, values)
      : this.#shared.read(getManyGuarded, [...values, ...guardParameters(guard.key)]));
    const found = keys.map((): Entry | undefined => undefined);
    for (const [place, version, value] of rows) {
      const index = numberOf(place) - 1;
      const key = keys[index];
      if (index === -1) assertGuard(guard, versionOf(version));
      if (key === undefined) continue;
      found[index] = { key: Buffer.from(key), version: numberOf(version), value: bytesOf(value) };
    }
    return found;
  }

  async range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage> {
    assertRangeOptions(options);
    const readers = {
      shared: this.#shared,
      snapshots: this.#snapshots,
      statements: this.#statements,
    };
    return readPage(readers, range, options);
  }

  /** Runs one statement on a shared connection. */
  query(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#shared.read(statement, values);
  }

  async close(): Promise<void> {
    await Promise.all([this.#shared.close(), this.#snapshots.close()]);
  }
}

function assertGuard(guard: Guard | undefined, actual: number | 'absent'): void {
  invariant(guard !== undefined, 'only a guarded read has the row of a guard');
  const refusal = guardRefusal(guard, actual);
  if (refusal !== undefined) throw refusal;
}
