import { requireCounts } from '../../definition/count.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import type { StoredRow } from '../../rows/row.js';
import { ticksOfMicros, ticksPerMillisecond } from '../../rows/ticks.js';
import { allRows } from '../../table/all-rows.js';
import type { TableGateway } from '../../table/gateway.js';
import { deleteRows } from '../transactional-outbox/message-sink.js';
import type { ChangeFeed } from './change-feed.js';
import { countOf, eventsAfter, groupsOf, isEventRow, isGroupRow, sequenceOf } from './feed-row.js';

/** The part of a feed that is kept. */
export interface TrimOptions {
  /** Keeps events younger than this, in milliseconds since their change. */
  readonly keepMs: number;
  /**
   * Keeps events that a consumer group has not handled yet, however old. Default true. False:
   * groups that were away for too long get a `FeedTrimmedError`.
   */
  readonly keepUnhandled?: boolean;
  /** Maximum events to delete, so that one call stays short. Default 10,000. */
  readonly max?: number;
  /** Must agree with the service's to far less than `keepMs`. The system's when absent. */
  readonly clock?: Clock;
}

/**
 * Deletes the old events of a partition's feed, oldest first. Sends one range read of the groups,
 * unless `keepUnhandled` is false; one range read per 1,000 events, and one transaction per 100
 * deleted ones, or as many as the table takes. Can be repeated after a crash, and run by several
 * programs at once. Returns the number deleted.
 */
export async function trimFeed(
  { table }: ChangeFeed,
  partitionKey: string,
  { keepMs, keepUnhandled = true, max = 10_000, clock = systemClock }: TrimOptions,
): Promise<number> {
  requireCounts({ max });
  const limit = keepUnhandled ? await lowWatermark(table, partitionKey) : undefined;
  const before = ticksOfMicros(clock.nowMicros()) - BigInt(Math.ceil(keepMs)) * ticksPerMillisecond;
  let deleted = 0;
  let cursor: string | undefined;
  for (let isEnd = false; !isEnd && deleted < max; isEnd ||= cursor === undefined) {
    const page = await table.page({
      ...eventsAfter(partitionKey, 0n),
      select: ['At'],
      limit: Math.min(1000, max - deleted),
      cursor,
    });
    // Only up to the first kept event: readers would take a gap for a loss.
    const events = page.rows.filter(isEventRow);
    const kept = events.findIndex((row) => !isOld(row, before, limit));
    const oldest = kept === -1 ? events : events.slice(0, kept);
    await deleteRows(
      table,
      oldest.map(({ rowKey }) => ({ partitionKey, rowKey })),
    );
    deleted += oldest.length;
    isEnd = kept !== -1;
    ({ cursor } = page);
  }
  return deleted;
}

function isOld(row: StoredRow, before: bigint, handled: bigint | undefined): boolean {
  const at = row.properties['At'];
  const isHandled = handled === undefined || sequenceOf(row) <= handled;
  return isHandled && at?.type === 'DateTime' && at.value < before;
}

/** The low watermark: the sequence that every group has handled; undefined without groups. */
async function lowWatermark(
  table: TableGateway,
  partitionKey: string,
): Promise<bigint | undefined> {
  let watermark: bigint | undefined;
  for await (const row of allRows(table, groupsOf(partitionKey))) {
    if (!isGroupRow(row)) continue;
    const done = countOf(row, 'Done');
    if (watermark === undefined || done < watermark) watermark = done;
  }
  return watermark;
}
