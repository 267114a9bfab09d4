import type { StoredRow } from '../../rows/row.js';
import type { RowPage, TableGateway } from '../../table/gateway.js';
import { committedAt, isOutboxRow, waitingMessages } from './outbox-row.js';

export interface WaitingRows {
  /** In the order in which their transactions were committed. */
  readonly rows: readonly StoredRow[];
  /** Whether more rows may wait than were read. */
  readonly hasMore: boolean;
}

/** Pages of 1,000 rows per read. */
const pagesMax = 10;

/**
 * The waiting rows in the outbox of a partition, in the order of commits by the service's
 * Timestamps, because the clocks of writers, which make the keys, may differ. One range read, and
 * one for every further 1,000 rows, up to 10,000.
 *
 * A later page can contain rows that were committed after a row that no page contains, because its
 * place was read before. Therefore the rows of the first page are returned, and of later ones those
 * up to its latest Timestamp: everything committed until then existed when each page was read.
 */
export async function readWaiting(table: TableGateway, partitionKey: string): Promise<WaitingRows> {
  const rows: StoredRow[] = [];
  let watermark: bigint | undefined;
  let hasMore = false;
  let cursor: string | undefined;
  for (let pages = 0; pages === 0 || (cursor !== undefined && pages < pagesMax); pages += 1) {
    const page: RowPage = await table.page({ ...waitingMessages(partitionKey), cursor });
    const waiting = page.rows.filter(isOutboxRow);
    const until = watermark;
    if (waiting.length > 0) watermark ??= latestOf(waiting);
    // A row that was committed on another shard may be later than its Timestamp here.
    const known =
      until === undefined ? waiting : waiting.filter((row) => committedAt(row) <= until);
    hasMore ||= known.length < waiting.length;
    rows.push(...known);
    ({ cursor } = page);
  }
  return { rows: rows.toSorted(byCommit), hasMore: hasMore || cursor !== undefined };
}

function latestOf(rows: readonly StoredRow[]): bigint {
  return rows.reduce((latest, { timestamp }) => (timestamp > latest ? timestamp : latest), 0n);
}

/** Rows of one transaction share a Timestamp; their keys give their order. */
function byCommit(left: StoredRow, right: StoredRow): number {
  const [earlier, later] = [committedAt(left), committedAt(right)];
  if (earlier !== later) return earlier < later ? -1 : 1;
  return left.rowKey < right.rowKey ? -1 : 1;
}
