import { requireCounts } from '../../definition/count.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { Instant } from '../../rows/instant.js';
import { DefinitionError, ModelError } from '../../rows/model-error.js';
import type { StoredRow } from '../../rows/row.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import type { AccountTables } from '../../table/account-tables.js';
import { entitiesOf, type Entities } from '../../table/entities.js';
import { pageRowsMax, type RowPage, type TableGateway } from '../../table/gateway.js';
import { BucketGateway } from './bucket-gateway.js';
import { BucketReads, pageOfBuckets, type BucketSequence } from './bucket-reads.js';
import {
  bucketAfter,
  bucketAt,
  bucketNameFilter,
  bucketOfName,
  checkBucketSet,
  isExpired,
  type Bucket,
  type BucketSet,
} from './bucket-name.js';

/** The options of a set of tables by time. */
export interface TimeBucketsOptions {
  readonly set: BucketSet;
  readonly tables: AccountTables;
  /** Opens a table by its name, such as `(name) => openTable(new TableClient(url, name, key))`. */
  readonly open: (name: string) => TableGateway;
  readonly clock?: Clock;
}

/** Selects whole buckets, including rows outside the time in buckets that it only overlaps. */
export interface BucketRange {
  readonly from: Instant;
  /** Excluded. */
  readonly to: Instant;
  /** The newest bucket first; rows within a bucket are always in key order. */
  readonly newestFirst?: boolean;
}

/** Rows of a range of buckets. */
export interface BucketQuery extends BucketRange {
  /** OData, within each bucket. `entities` takes typed conditions instead. */
  readonly filter?: string;
  readonly select?: readonly string[];
}

/** The reads of entities that work across tables. A write goes to the table of its time, `at`. */
export type BucketEntities<D extends AnyDefinition> = Pick<
  Entities<D>,
  'get' | 'getMany' | 'query' | 'scanTable'
>;

/** Bounds of one rotation. */
export interface RotateOptions {
  /** Maximum tables that one call drops; later calls drop the rest. 100 when absent. */
  readonly dropsMax?: number;
  /** Buckets after the current one that are created ahead of time. 1 when absent. */
  readonly ahead?: number;
}

/** The results of a rotation. */
export interface Rotation {
  /** Oldest first. */
  readonly dropped: readonly string[];
  /** Expired tables that remain because of `dropsMax`. */
  readonly remaining: number;
  /** Tables that exist now: the current one and those ahead. */
  readonly ensured: readonly string[];
}

/** Maximum pages of table names: 10 million tables. */
const namePagesMax = 10_000;

/**
 * Tables by time, so that old rows are deleted by dropping their table: one request instead of one
 * per hundred rows. Each row belongs to the table of its period; `rotate`, called at least once per
 * period, creates the next tables ahead of time and drops those beyond the retention. The time of a
 * row selects its table, so a reader must be able to derive it.
 */
export class TimeBuckets {
  readonly #set: BucketSet;
  readonly #tables: AccountTables;
  readonly #open: (name: string) => TableGateway;
  readonly #clock: Clock;
  readonly #opened = new Map<string, TableGateway>();

  /** Throws `DefinitionError` for a set whose names are impossible. Sends nothing. */
  constructor({ set, tables, open, clock = systemClock }: TimeBucketsOptions) {
    checkBucketSet(set);
    this.#set = set;
    this.#tables = tables;
    this.#open = open;
    this.#clock = clock;
  }

  /** The bucket of a time. Sends nothing. */
  bucketAt(time: Instant): Bucket {
    return bucketAt(this.#set, time.ticks);
  }

  /**
   * The table of a time. Opening sends nothing. Its reads find nothing while the table does not
   * exist. An insert or upsert creates a missing table (two more requests), and throws `ModelError`
   * instead when the time is so old that the table would be dropped at once.
   */
  at(time: Instant): TableGateway {
    return this.#tableOf(this.bucketAt(time));
  }

  /**
   * Creates the current table and those ahead, so that no write waits for it. One request per
   * table; does nothing to tables that exist. Throws `ModelError` when one is still being deleted.
   */
  async ensure({ ahead = 1 }: Pick<RotateOptions, 'ahead'> = {}): Promise<readonly string[]> {
    requireCounts({ ahead }, { min: 0, max: 1000 });
    const ensured: string[] = [];
    let bucket = bucketAt(this.#set, this.#nowTicks());
    for (let count = 0; count <= ahead; count++) {
      await this.#create(bucket);
      ensured.push(bucket.name);
      bucket = bucketAfter(this.#set, bucket);
    }
    return ensured;
  }

  /**
   * Ensures the next tables, then drops the expired ones, oldest first. Sends one request for each
   * table ensured, one listing per 1,000 tables, and one request for each table dropped. Can be
   * interrupted, and run by several processes: the next run does the rest. A table is dropped when
   * it has expired by the clock of the machine and by that of the service, which the listing tells:
   * a clock that is wrong drops nothing too early.
   */
  async rotate({ dropsMax = 100, ahead = 1 }: RotateOptions = {}): Promise<Rotation> {
    requireCounts({ dropsMax }, { min: 0 });
    const ensured = await this.ensure({ ahead });
    const { buckets, serviceTicks } = await this.#listed();
    const ownTicks = this.#nowTicks();
    const now = serviceTicks !== undefined && serviceTicks < ownTicks ? serviceTicks : ownTicks;
    const expired = buckets.filter((bucket) => isExpired(this.#set, bucket, now));
    const dropped: string[] = [];
    for (const { name } of expired.slice(0, dropsMax)) {
      await this.#tables.drop(name);
      this.#opened.delete(name);
      dropped.push(name);
    }
    return { dropped, remaining: expired.length - dropped.length, ensured };
  }

  /** The buckets that have tables, oldest first. One listing per 1,000 tables. */
  async list(): Promise<readonly Bucket[]> {
    return (await this.#listed()).buckets;
  }

  /**
   * The entities of a definition in a range of buckets, with typed keys and conditions. Results are
   * in the order of the buckets, then in key order. Sends nothing yet; a query sends one listing at
   * its beginning and at least one range read per table, a `get` one listing and a point read per
   * table until the entity is found. Tables that are made meanwhile are not read.
   */
  entities<D extends AnyDefinition>(definition: D, range: BucketRange): BucketEntities<D> {
    const list = (): Promise<BucketSequence> => this.#sequenceOf(range);
    return entitiesOf(definition, new BucketReads(this.#set.prefix, list));
  }

  /**
   * One page of the rows of a time, bucket by bucket. Sends a listing and one range read, or only
   * the listing when no table is left. A page may be empty and have a cursor; at the end it has
   * none. A cursor stays valid while tables are created and dropped.
   */
  async page(
    query: BucketQuery & { readonly limit?: number; readonly cursor?: string },
  ): Promise<RowPage> {
    return pageOfBuckets(await this.#sequenceOf(query), query);
  }

  /**
   * The rows of a time, bucket by bucket. Sends one listing at the beginning, then at least one
   * range read per table, one per 1,000 rows. Skips tables that are dropped meanwhile.
   */
  async *rows(query: BucketQuery): AsyncGenerator<StoredRow> {
    for (const bucket of (await this.#sequenceOf(query)).buckets) {
      let inside: string | undefined;
      do {
        const page = await this.#read(bucket, query, pageRowsMax, inside);
        yield* page.rows;
        inside = page.cursor;
      } while (inside !== undefined);
    }
  }

  #read(
    bucket: Bucket,
    { filter, select }: BucketQuery,
    limit: number,
    cursor: string | undefined,
  ): Promise<RowPage> {
    return this.#tableOf(bucket).page({ filter, select, limit, cursor });
  }

  /** The buckets that a query reads. */
  async #sequenceOf({ from, to, newestFirst = false }: BucketRange): Promise<BucketSequence> {
    const touched = (await this.list()).filter(
      (bucket) => bucket.from < to.ticks && bucket.to > from.ticks,
    );
    return {
      buckets: newestFirst ? touched.toReversed() : touched,
      isNewestFirst: newestFirst,
      tableOf: (bucket) => this.#tableOf(bucket),
    };
  }

  async #listed(): Promise<{
    readonly buckets: readonly Bucket[];
    /** The service's clock. */
    readonly serviceTicks: bigint | undefined;
  }> {
    const filter = bucketNameFilter(this.#set);
    const buckets: Bucket[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < namePagesMax; pages++) {
      const page = await this.#tables.names(filter, cursor);
      for (const name of page.names) {
        const bucket = bucketOfName(this.#set, name);
        if (bucket !== undefined) buckets.push(bucket);
      }
      ({ cursor } = page);
      if (cursor === undefined) {
        buckets.sort((left, right) => (left.from < right.from ? -1 : 1));
        const { serviceMicros } = page;
        const serviceTicks = serviceMicros === undefined ? undefined : ticksOfMicros(serviceMicros);
        return { buckets, serviceTicks };
      }
    }
    throw new ModelError(`the names of the tables '${this.#set.prefix}…' do not end`);
  }

  #tableOf(bucket: Bucket): TableGateway {
    const opened = this.#opened.get(bucket.name);
    if (opened !== undefined) return opened;
    const table = this.#open(bucket.name);
    if (table.table.toLowerCase() !== bucket.name.toLowerCase()) {
      throw new DefinitionError(`'open' opened '${table.table}' for '${bucket.name}'`);
    }
    const gateway = new BucketGateway(table, () => this.#create(bucket));
    if (this.#opened.size >= openedMax) this.#opened.clear();
    this.#opened.set(bucket.name, gateway);
    return gateway;
  }

  async #create(bucket: Bucket): Promise<void> {
    if (isExpired(this.#set, bucket, this.#nowTicks())) {
      throw new ModelError(
        `no table is made for a time before ${Instant.ofTicks(bucket.to).toString()}: ` +
          'the retention of the set does not keep it',
      );
    }
    if ((await this.#tables.create(bucket.name)) === 'exists') return;
    throw new ModelError(
      `the table '${bucket.name}' is still being deleted; try again in a minute`,
    );
  }

  #nowTicks(): bigint {
    return ticksOfMicros(this.#clock.nowMicros());
  }
}

/** Opened tables that are cached; opening one sends no request. */
const openedMax = 1000;

/** Tables by time. Throws `DefinitionError` for a set that cannot be. Sends nothing. */
export function timeBucketsOf(options: TimeBucketsOptions): TimeBuckets {
  return new TimeBuckets(options);
}
