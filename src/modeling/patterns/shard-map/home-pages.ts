import type { RowKey, StoredRow } from '../../rows/row.js';
import { compareKeys } from '../../rows/text-order.js';
import { whereStored } from '../../table/filter.js';
import { pageRowsMax, type RowQuery, type TableGateway } from '../../table/gateway.js';
import { keysBehind, type RowSelection } from '../../table/row-selection.js';
import type { PartitionHomes } from './partition-homes.js';
import { isContent, selectedWithType, selecting } from './shown-rows.js';

/** A page of one shard as it is stored, rows of shard maps included. */
export interface ShardPage {
  readonly rows: readonly StoredRow[];
  /** The shard's cursor; absent at its end. */
  readonly cursor?: string | undefined;
}

/** At least one row, unless there is none: skips empty pages. Begins at the cursor of the query. */
export async function pageFrom(
  shard: TableGateway,
  { select, ...query }: RowQuery,
): Promise<ShardPage> {
  let { cursor } = query;
  for (;;) {
    const page = await shard.page({ ...query, select: selectedWithType(select), cursor });
    if (page.rows.length > 0 || page.cursor === undefined) return page;
    ({ cursor } = page);
  }
}

/** The key up to which every shard has been read; undefined: all were read to their end. */
export function endOf(pages: readonly ShardPage[]): RowKey | undefined {
  let end: RowKey | undefined;
  for (const { rows, cursor } of pages) {
    const last = cursor === undefined ? undefined : rows.at(-1);
    if (last === undefined) continue;
    if (end === undefined || compareKeys(last, end) < 0) end = last;
  }
  return end;
}

/** The rows of a page that are content of the map's partitions, up to a key. */
function contentUpTo({ rows }: ShardPage, end: RowKey | undefined): readonly StoredRow[] {
  return rows.filter((row) => isContent(row) && (end === undefined || compareKeys(row, end) <= 0));
}

/** A page, and which of its partitions the query returns. */
export interface PagePart {
  readonly page: ShardPage;
  readonly isGiven: (partitionKey: string) => boolean;
}

/** A shard that is read. */
export interface ReadShard {
  readonly name: string;
  readonly table: TableGateway;
}

interface ShardRead {
  readonly shard: ReadShard;
  /** `takenBy` when the read was sent. */
  readonly taken: number;
  readonly page: ShardPage;
}

/**
 * Reads a page of each shard and decides the homes of all partitions that are found up to the
 * common end of the pages. Reads a shard again when it turns out to have taken over one of these
 * partitions: its page may be from before that.
 */
export async function homePages(
  shards: readonly ReadShard[],
  homes: PartitionHomes,
  query: RowQuery,
): Promise<readonly PagePart[]> {
  const read = async (shard: ReadShard): Promise<ShardRead> => {
    const taken = homes.takenBy(shard.name);
    return { shard, taken, page: await pageFrom(shard.table, query) };
  };
  const isCurrent = ({ shard, taken }: ShardRead): boolean => homes.takenBy(shard.name) === taken;
  const current = async (found: ShardRead): Promise<ShardRead> =>
    isCurrent(found) ? found : read(found.shard);
  let reads = await Promise.all(shards.map(read));
  // A page is read again only after one more partition was decided, and each is decided once, so
  // the loop ends.
  for (;;) {
    await decideFound(reads, homes);
    if (reads.every(isCurrent)) return reads.map((found) => givenOf(found, homes));
    reads = await Promise.all(reads.map(current));
  }
}

function givenOf({ shard: { name }, page }: ShardRead, homes: PartitionHomes): PagePart {
  homes.hasRead(name, endOf([page]));
  return { page, isGiven: (partitionKey) => homes.sourceOf(name, partitionKey) === name };
}

async function decideFound(reads: readonly ShardRead[], homes: PartitionHomes): Promise<void> {
  const end = endOf(reads.map(({ page }) => page));
  for (const { shard, page } of reads) {
    for (const partitionKey of partitionsOf(contentUpTo(page, end))) {
      await homes.decide(shard.name, partitionKey);
    }
  }
}

function partitionsOf(rows: readonly StoredRow[]): ReadonlySet<string> {
  return new Set(rows.map(({ partitionKey }) => partitionKey));
}

export interface JoinedPage {
  readonly rows: readonly StoredRow[];
  /** The key after which the next page begins; undefined when there are no more rows. */
  readonly last: RowKey | undefined;
}

/**
 * The rows of several pages in key order, up to the end that all pages have reached, and at most as
 * many as the query allows in a page.
 */
export function joinedPage(
  parts: readonly PagePart[],
  { limit = pageRowsMax, select }: RowQuery,
): JoinedPage {
  const end = endOf(parts.map(({ page }) => page));
  const rows = parts.flatMap(({ page, isGiven }) => {
    const found = contentUpTo(page, end);
    const given = new Set([...partitionsOf(found)].filter(isGiven));
    return found.filter(({ partitionKey }) => given.has(partitionKey));
  });
  rows.sort(compareKeys);
  const shown = rows.slice(0, limit);
  const last = shown.length < rows.length ? shown.at(-1) : end;
  return { rows: shown.map(selecting(select)), last };
}

/** The rows of a selection that follow a key. */
export function rowsAfter(
  { partitionKey, rowKey, where }: RowSelection,
  after: RowKey,
): RowSelection {
  if (typeof partitionKey === 'string') return { rowKey: keysBehind(rowKey, after.rowKey) };
  const partition = { type: 'String', value: after.partitionKey } as const;
  const inPartition = whereStored('PartitionKey', 'eq', partition).and(
    whereStored('RowKey', 'gt', { type: 'String', value: after.rowKey }),
  );
  const behind = whereStored('PartitionKey', 'gt', partition).or(inPartition);
  return {
    partitionKey: keysBehind(partitionKey, after.partitionKey, true),
    where: where === undefined ? behind : where.and(behind),
  };
}
