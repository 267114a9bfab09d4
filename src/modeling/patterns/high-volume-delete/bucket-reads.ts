import { ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import type { RowPage, RowQuery, TableGateway } from '../../table/gateway.js';
import { formatCursor, parseCursor } from './bucket-cursor.js';
import type { Bucket } from './bucket-name.js';

/** Several buckets, in the order in which they are read. */
export interface BucketSequence {
  readonly buckets: readonly Bucket[];
  readonly isNewestFirst: boolean;
  readonly tableOf: (bucket: Bucket) => TableGateway;
}

/**
 * One page, of one bucket: the first one, or that of the cursor. A bucket that was dropped since is
 * passed over. One range read, none when no bucket is left.
 */
export async function pageOfBuckets(
  sequence: BucketSequence,
  { cursor, ...query }: RowQuery,
): Promise<RowPage> {
  const position = cursor === undefined ? undefined : parseCursor(cursor);
  const [bucket, next] =
    position === undefined ? sequence.buckets : fromBucket(sequence, position.bucket);
  if (bucket === undefined) return { rows: [] };
  const inside = bucket.name === position?.bucket ? position.inside : undefined;
  const page = await sequence.tableOf(bucket).page({ ...query, cursor: inside });
  if (page.cursor !== undefined) {
    return { ...page, cursor: formatCursor({ bucket: bucket.name, inside: page.cursor }) };
  }
  return next === undefined ? page : { ...page, cursor: formatCursor({ bucket: next.name }) };
}

/** The buckets from one on, in their order, whether or not that one still exists. */
function fromBucket({ buckets, isNewestFirst }: BucketSequence, name: string): readonly Bucket[] {
  return buckets.filter((bucket) => {
    const isBefore = bucket.name.toLowerCase() < name.toLowerCase();
    return bucket.name === name || isBefore === isNewestFirst;
  });
}

/** Several buckets as one table that can only be read. */
export class BucketReads implements TableGateway {
  readonly table: string;
  readonly #list: () => Promise<BucketSequence>;
  #listed: BucketSequence | undefined;

  constructor(prefix: string, list: () => Promise<BucketSequence>) {
    this.table = prefix;
    this.#list = list;
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const { buckets, tableOf } = await this.#list();
    for (const bucket of buckets) {
      const row = await tableOf(bucket).get(key, select);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  /** The first page of a query lists the buckets; the further pages continue with these. */
  async page(query: RowQuery): Promise<RowPage> {
    const known = query.cursor === undefined ? undefined : this.#listed;
    this.#listed = known ?? (await this.#list());
    return pageOfBuckets(this.#listed, query);
  }

  write(): Promise<never> {
    return Promise.reject(this.#refusal());
  }

  transact(): Promise<never> {
    return Promise.reject(this.#refusal());
  }

  #refusal(): ValueError {
    return new ValueError(
      `the time of a row tells its table among '${this.table}…': write through at(time)`,
    );
  }
}
