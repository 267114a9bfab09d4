import type { Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { retryConflicts } from '../../table/contention.js';
import { entitiesOf, type Entities } from '../../table/entities.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { readOnly } from '../contexts/read-only-table.js';
import {
  copyPartition,
  differencesOf,
  type PreparedPartition,
} from '../shard-map/partition-copy.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRows } from './manager-rows.js';
import {
  stampedTable,
  stampOf,
  stampsOf,
  stampWrite,
  withoutStamps,
  type Stamp,
} from './stamped-table.js';

export interface ReferenceCopiesOptions {
  /** Names it in the rows of the manager. */
  readonly name: string;
  readonly home: TableGateway;
  readonly rows: ManagerRows;
  readonly clock: Clock;
}

export interface ReferenceTableOptions extends ReferenceCopiesOptions {
  /** The copies, by shard, of the shards that may be used. */
  readonly shards: () => Promise<ReadonlyMap<string, TableGateway>>;
}

/** The name of a table of reference data in the rows of the manager. */
export function referenceName(map: string, table: string): string {
  return `${map} ${table}`;
}

/** The number of partitions and rows that were copied to shards. */
export interface Distribution {
  readonly partitions: number;
  /** Rows that were written or deleted. */
  readonly rows: number;
}

/** A partition of a shard that differs from the same partition of the home account. */
export interface ReferenceDifference {
  readonly shard: string;
  readonly partitionKey: string;
  /** The number of rows that differ. 0: only the stamp differs. */
  readonly rows: number;
}

/**
 * How a stale partition of a copy is found. `stamps`: by the versions of both sides. `rows`: also
 * by comparing every row where the versions are equal.
 */
export type ComparedBy = 'stamps' | 'rows';

/** Brings copies of a table of reference data up to date. */
export class ReferenceCopies {
  readonly #options: ReferenceCopiesOptions;

  constructor(options: ReferenceCopiesOptions) {
    this.#options = options;
  }

  /**
   * Brings the copy of one shard up to date, whatever the shard's status, and notes the time. One
   * range read of the stamps of the home account and one of those of the shard, and the requests of
   * each partition that is behind. Compared by `rows`, range reads of all of both besides.
   */
  async bring(
    shard: string,
    table: TableGateway,
    compared: ComparedBy = 'stamps',
  ): Promise<Distribution> {
    const { home, rows: notes, clock, name } = this.#options;
    let [partitions, rows] = [0, 0];
    const atMicros = clock.nowMicros();
    const [wanted, there] = [await stampsOf(home), await stampsOf(table)];
    for (const partitionKey of new Set([...wanted.keys(), ...there.keys()])) {
      const isNow = isCurrent(there.get(partitionKey), wanted.get(partitionKey));
      if (isNow && (compared === 'stamps' || (await this.#isSame(partitionKey, table)))) continue;
      rows += await this.#bringPartition(partitionKey, table, isNow);
      partitions += 1;
    }
    const noted = await notes.find('reference', `${name} ${shard}`);
    const texts = { CheckedAtMicros: String(atMicros) };
    // If another program has noted its time meanwhile, that time is as good, so the result is
    // ignored.
    await notes.put('reference', `${name} ${shard}`, texts, noted?.etag);
    return { partitions, rows };
  }

  async #isSame(partitionKey: string, table: TableGateway): Promise<boolean> {
    const [home, copy] = [withoutStamps(this.#options.home), withoutStamps(table)];
    return (await differencesOf(home, copy, partitionKey)) === 0;
  }

  /** The rows that were written; `isForced`: also of a copy that has the version of home. */
  #bringPartition(partitionKey: string, table: TableGateway, isForced: boolean): Promise<number> {
    const { home } = this.#options;
    return retryConflicts(`copying '${partitionKey}' to ${table.table}`, {}, async () => {
      // Reads the copy first, so that the home account has at least the version of the copy.
      const there = await stampOf(table, partitionKey);
      let wanted = await stampOf(home, partitionKey);
      if (!isForced && isCurrent(there, wanted)) return 0;
      if (wanted === undefined || (there !== undefined && there.version > wanted.version)) {
        // The home account was restored from an earlier state and still decides: its version is
        // raised above that of the copy.
        wanted = await this.raise(partitionKey, (there?.version ?? 0n) + 1n);
      }
      const copy = new StampedCopy(withoutStamps(table), table, partitionKey, wanted.version);
      await copy.begin(there?.etag);
      const rows = await copyPartition(withoutStamps(home), copy);
      // If home was written while the copy was made, the copy may have a part of that and is not
      // whole.
      const after = await stampOf(home, partitionKey);
      await copy.end(after?.version === wanted.version);
      return rows;
    });
  }

  /** Raises the version at home to at least this one. */
  async raise(partitionKey: string, least: bigint): Promise<Stamp> {
    const { home } = this.#options;
    return retryConflicts(`raising '${partitionKey}'`, {}, async () => {
      const stamp = await stampOf(home, partitionKey);
      if (stamp !== undefined && stamp.version >= least) return stamp;
      const write = stampWrite(partitionKey, least, true, stamp?.etag);
      const { etag = '' } = await home.write(write);
      return { version: least, isWhole: true, etag };
    });
  }
}

/**
 * Reference data that every shard has a copy of. Programs write to `entities`, in the home account,
 * and read the copy beside their own data; `distribute`, called by a worker again and again, brings
 * the copies up to date. The versions of partitions, not messages, decide what is copied, so that a
 * shard that was restored, or is new, is brought up to date as any other.
 */
export class ReferenceTable<D extends AnyDefinition> {
  readonly definition: D;
  /** In the home account, for writes and for reads that must be current. */
  readonly entities: Entities<D>;
  readonly #options: ReferenceTableOptions;
  readonly #copies: ReferenceCopies;

  constructor(definition: D, options: ReferenceTableOptions) {
    this.definition = definition;
    this.entities = entitiesOf(definition, stampedTable(options.home));
    this.#options = options;
    this.#copies = new ReferenceCopies(options);
  }

  /** The copy of a shard, for reads. A partition of more than 99 changes is seen in part. */
  async on(shard: string): Promise<Entities<D>> {
    const table = (await this.#options.shards()).get(shard);
    if (table === undefined) {
      throw new ManagerError(
        `the shard '${shard}' has no copy to read: it is offline, detached or not registered`,
      );
    }
    return entitiesOf(this.definition, readOnly(withoutStamps(table)));
  }

  /**
   * Brings all copies up to date. Any number of programs at once, killed or not. A range read of
   * stamps of the home account and of each shard; for a partition that is behind two point reads,
   * range reads of both, and a transaction for up to 99 rows, and two more. Goes on after a shard
   * that fails: throws the error of the first, after all of them.
   */
  async distribute(): Promise<Distribution> {
    let [partitions, rows] = [0, 0];
    const failures: { readonly error: unknown }[] = [];
    for (const [shard, table] of await this.#options.shards()) {
      try {
        const brought = await this.#copies.bring(shard, table);
        partitions += brought.partitions;
        rows += brought.rows;
      } catch (error) {
        failures.push({ error });
      }
    }
    const [first] = failures;
    if (first !== undefined) throw first.error;
    return Object.freeze({ partitions, rows });
  }

  /**
   * How old the copy of a shard may be, in milliseconds: since the last `distribute` began there.
   * Undefined: there was none. One point read.
   */
  async ageOf(shard: string): Promise<number | undefined> {
    const { rows, clock, name } = this.#options;
    const noted = await rows.find('reference', `${name} ${shard}`);
    if (noted === undefined) return undefined;
    const atMicros = Number(noted.texts['CheckedAtMicros'] ?? 0);
    return Math.max(0, clock.nowMicros() - atMicros) / 1000;
  }

  /**
   * Compares every row of the copies. With `repair` the partitions that differ are copied again, to
   * all shards. Range reads of all of it.
   */
  async verify({ repair = false }: { readonly repair?: boolean } = {}): Promise<
    readonly ReferenceDifference[]
  > {
    const { home, shards } = this.#options;
    const found: ReferenceDifference[] = [];
    for (const [shard, table] of await shards()) {
      const [wanted, there] = [await stampsOf(home), await stampsOf(table)];
      for (const partitionKey of new Set([...wanted.keys(), ...there.keys()])) {
        const rows = await differencesOf(withoutStamps(home), withoutStamps(table), partitionKey);
        if (rows === 0 && isCurrent(there.get(partitionKey), wanted.get(partitionKey))) continue;
        found.push(Object.freeze({ shard, partitionKey, rows }));
      }
    }
    if (!repair || found.length === 0) return found;
    for (const partitionKey of new Set(found.map((each) => each.partitionKey))) {
      const stamp = await stampOf(home, partitionKey);
      await this.#copies.raise(partitionKey, (stamp?.version ?? 0n) + 1n);
    }
    await this.distribute();
    return found;
  }
}

function isCurrent(there: Stamp | undefined, wanted: Stamp | undefined): boolean {
  return there?.isWhole === true && there.version === wanted?.version;
}

/** The exclusive right to write a copy, until another program takes it over. */
class StampedCopy implements PreparedPartition {
  readonly table: TableGateway;
  readonly partitionKey: string;
  readonly #target: TableGateway;
  readonly #version: bigint;
  #etag = '';

  constructor(table: TableGateway, target: TableGateway, partitionKey: string, version: bigint) {
    this.table = table;
    this.#target = target;
    this.partitionKey = partitionKey;
    this.#version = version;
  }

  /** Over the stamp that was read. */
  async begin(before: string | undefined): Promise<void> {
    const write = stampWrite(this.partitionKey, this.#version, false, before);
    const { etag } = await this.#target.write(write);
    this.#etag = etag ?? '';
  }

  async write(writes: readonly RowWrite[]): Promise<void> {
    const stamp = stampWrite(this.partitionKey, this.#version, false, this.#etag);
    const [result] = await this.#target.transact([stamp, ...writes]);
    this.#etag = result?.etag ?? '';
  }

  async end(isWhole: boolean): Promise<void> {
    await this.#target.write(stampWrite(this.partitionKey, this.#version, isWhole, this.#etag));
  }
}
