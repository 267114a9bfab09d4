import { concurrently } from '../../../base/async/concurrently.js';
import type { Clock } from '../../../base/clock.js';
import { own } from '../../../base/own.js';
import { bucketOf } from '../../../placement/hashes/text-hash.js';
import { escapeKeyText } from '../../definition/key-escape.js';
import { successorOfPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import type { RowProperties, StoredRow } from '../../rows/row.js';
import { keyOf, storedText, textIn } from '../../rows/row-parts.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import { transactIf } from '../../table/conditional-write.js';
import { divided } from '../../table/divided.js';
import { whereStored, type Filter } from '../../table/filter.js';
import { transactionWritesMax, type RowWrite, type TableGateway } from '../../table/gateway.js';
import {
  idOfRow,
  isOutboxRow,
  poisonMessages,
  waitingMessages,
} from '../transactional-outbox/outbox-row.js';

/**
 * A mark says that an event is in a view. It is in the view's partition:
 *
 *   RowKey   ~applied_<id of the event>
 *   Outbox   the partition whose outbox had the message; absent where the event came otherwise
 *   Settled  present once the message was found to be gone
 */
export const marks = {
  from: reservedRowKeys.appliedEvent,
  before: successorOfPrefix(reservedRowKeys.appliedEvent),
};
export const markType = 'AppliedEvent';
const typeProperty = 'EntityType';
const outboxProperty = 'Outbox';
const settledProperty = 'Settled';

/** Marks that a round settles, and as many that it deletes. */
const marksOfRound = transactionWritesMax;
/**
 * The average number of events for one round. It is less than the marks that a round settles, so
 * that rounds catch up with a backlog.
 */
const eventsOfRound = 40;
const pagesMax = 10;
/** Partitions of an outbox that a round asks for messages at the same time. */
const outboxesAtOnce = 8;
/** How long a process may hold a message that it has read, in microseconds: a day. */
const keepMicros = 86_400e6;

/** The properties of a mark. */
export function markProperties(outbox: string | undefined): RowProperties {
  return {
    [typeProperty]: storedText(markType),
    ...(outbox === undefined ? {} : { [outboxProperty]: storedText(outbox) }),
  };
}

/** Marks that were last written before a time, in ticks. */
export function marksBefore(ticks: bigint): Filter {
  const isMark = whereStored(typeProperty, 'eq', storedText(markType));
  return isMark.and(whereStored('Timestamp', 'lt', { type: 'DateTime', value: ticks }));
}

function isSettled({ properties }: StoredRow): boolean {
  return own(properties, settledProperty) !== undefined;
}

export interface MarkUpkeepOptions {
  /** The table of the views. */
  readonly table: TableGateway;
  /** The table of the outbox. */
  readonly outbox: TableGateway;
  readonly clock: Clock;
}

/**
 * Deletes marks of events that cannot be delivered again. A message is delivered as long as it is
 * in its outbox, waiting or poisoned, and by a relay that has read it before it was removed. So a
 * mark that is a day old is settled when the outbox no longer has its message, and deleted a day
 * later.
 */
export class MarkUpkeep {
  readonly #options: MarkUpkeepOptions;

  constructor(options: MarkUpkeepOptions) {
    this.#options = options;
  }

  /**
   * Call it after an event was applied to a view in this partition. For one event in forty it makes
   * a round there: up to ten range reads for at most 200 old marks, two for each outbox that 100 of
   * them came from, and two transactions. The id of the event decides, so that every partition gets
   * its share of rounds, in any order of events and however few of them a process handles.
   */
  async applied(partitionKey: string, event: string): Promise<void> {
    if (bucketOf(event, eventsOfRound) === 0) await this.round(partitionKey);
  }

  async round(partitionKey: string): Promise<void> {
    const { table } = this.#options;
    const old = await this.#old(partitionKey);
    const settled = old.filter(isSettled);
    // A faster process has done the same work.
    await divided(settled, (some) => transactIf(table, some.map(forgetting)));
    const gone = await this.#gone(old.filter((mark) => !settled.includes(mark)));
    await divided(gone, (some) => transactIf(table, some.map(settling)));
  }

  /** Marks that have not been written for a day and that name an outbox. */
  async #old(partitionKey: string): Promise<readonly StoredRow[]> {
    const { table, clock } = this.#options;
    const before = ticksOfMicros(clock.nowMicros() - keepMicros);
    const found: StoredRow[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages === 0 || (cursor !== undefined && pages < pagesMax); pages += 1) {
      const query = { partitionKey, rowKey: marks, where: marksBefore(before) };
      const page = await table.page({ ...query, cursor });
      found.push(
        ...page.rows.filter(
          ({ properties, timestamp }) =>
            timestamp < before && textIn(properties, outboxProperty) !== undefined,
        ),
      );
      ({ cursor } = page);
      if (found.length >= marksOfRound) break;
    }
    const [settled, others] = [found.filter(isSettled), found.filter((mark) => !isSettled(mark))];
    return [...settled.slice(0, marksOfRound), ...others.slice(0, marksOfRound)];
  }

  /** Returns the marks whose messages are no longer in their outbox. */
  async #gone(old: readonly StoredRow[]): Promise<readonly StoredRow[]> {
    const byOutbox = new Map<string, StoredRow[]>();
    for (const mark of old) {
      const outbox = textIn(mark.properties, outboxProperty) ?? '';
      byOutbox.set(outbox, [...(byOutbox.get(outbox) ?? []), mark]);
    }
    const gone: StoredRow[] = [];
    await concurrently(byOutbox, outboxesAtOnce, async ([outbox, of]) => {
      const there = await this.#messagesIn(outbox);
      if (there === undefined) return;
      gone.push(...of.filter(({ rowKey }) => !there.has(rowKey.slice(marks.from.length))));
    });
    return gone;
  }

  /**
   * The ids of the messages of a partition; undefined when there are more than fit on a page.
   * Poison messages first, because a redrive moves them to those that wait.
   */
  async #messagesIn(partitionKey: string): Promise<ReadonlySet<string> | undefined> {
    const ids = new Set<string>();
    for (const messages of [poisonMessages(partitionKey), waitingMessages(partitionKey)]) {
      const page = await this.#options.outbox.page(messages);
      if (page.cursor !== undefined) return undefined;
      for (const row of page.rows.filter(isOutboxRow)) {
        const id = idOfRow(row);
        // A relay dispatches no message that it cannot read, so a row without a readable id needs
        // no mark.
        if (id !== undefined) ids.add(escapeKeyText(id, ''));
      }
    }
    return ids;
  }
}

function forgetting(mark: StoredRow): RowWrite {
  return { kind: 'delete', key: keyOf(mark), etag: mark.etag };
}

function settling({ partitionKey, rowKey, etag }: StoredRow): RowWrite {
  const properties: RowProperties = { [settledProperty]: { type: 'Boolean', value: true } };
  return { kind: 'merge', row: { partitionKey, rowKey, properties }, etag };
}
