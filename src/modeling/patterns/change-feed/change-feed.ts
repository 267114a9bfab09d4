import { ModelError, ValueError } from '../../table/errors.js';
import { fingerprintOf, readCursor, writeCursor } from '../../table/cursor.js';
import type { RowPage, TableGateway } from '../../table/gateway.js';
import { readPayload, type MessageType } from '../../worker/message-type.js';
import {
  countOf,
  eventKey,
  eventOf,
  isEventRow,
  eventsAfter,
  headKey,
  sequenceOf,
  type FeedEvent,
} from './feed-row.js';

/** One page of events, in order. */
export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /**
   * After the last event, or where this page began. Always present, because more events may follow.
   */
  readonly cursor: string;
  /** Whether more events may exist already. */
  readonly hasMore: boolean;
}

/** The start and size of a page of events. */
export interface FeedQuery {
  /**
   * The cursor of an earlier page or event of the same partition; from the oldest kept event when
   * absent.
   */
  readonly cursor?: string;
  /** Maximum events of the page, 1 to 1000. Default 100. */
  readonly limit?: number;
}

/** Events after the cursor were deleted before they were read. */
export class FeedTrimmedError extends ModelError {
  override readonly name = 'FeedTrimmedError';
  /** Resumes with the oldest kept event, once the loss is dealt with. */
  readonly cursor: string;

  constructor(message: string, cursor: string) {
    super(message);
    this.cursor = cursor;
  }
}

/**
 * The changes of a table, by partition, in the order of their commits as far as the service's
 * Timestamps show it, numbered without gaps. A reader that continues from a cursor gets every later
 * event exactly once. Filled by the relay of a model that declares a `changeFeed`, or by a `Relay`
 * with `feedSinkOf`, so an event appears some time after its change.
 */
export class ChangeFeed {
  readonly table: TableGateway;

  constructor(table: TableGateway) {
    this.table = table;
  }

  /**
   * The next events of a partition: one range read, and further ones only after empty pages that
   * are not the last. Throws `FeedTrimmedError` when events after the cursor were deleted, and
   * `ValueError` for the cursor of another partition.
   */
  async read(partitionKey: string, { cursor, limit = 100 }: FeedQuery = {}): Promise<FeedPage> {
    const after = cursor === undefined ? undefined : this.#sequenceAt(partitionKey, cursor);
    const query = { ...eventsAfter(partitionKey, after ?? 0n), limit };
    let page: RowPage = await this.table.page(query);
    let rows = page.rows.filter(isEventRow);
    while (rows.length === 0 && page.cursor !== undefined) {
      page = await this.table.page({ ...query, cursor: page.cursor });
      rows = page.rows.filter(isEventRow);
    }
    const [first] = rows;
    if (first !== undefined && after !== undefined) {
      this.#requireNext(partitionKey, after, sequenceOf(first));
    }
    const events = rows.map((row) => eventOf(row, this.cursorAt(partitionKey, sequenceOf(row))));
    const end = events.at(-1)?.cursor ?? cursor ?? this.cursorAt(partitionKey, 0n);
    return { events, cursor: end, hasMore: page.cursor !== undefined };
  }

  /** The cursor after the latest event, for readers of future events only: one point read. */
  async end(partitionKey: string): Promise<string> {
    return this.cursorAt(
      partitionKey,
      countOf(await this.table.get(headKey(partitionKey)), 'Last'),
    );
  }

  /** The cursor after a sequence; after 0 is the beginning. Sends nothing. */
  cursorAt(partitionKey: string, sequence: bigint): string {
    return writeCursor(this.#fingerprint(partitionKey), {
      kind: 'after',
      ...eventKey(partitionKey, sequence),
    });
  }

  #sequenceAt(partitionKey: string, cursor: string): bigint {
    const position = readCursor(this.#fingerprint(partitionKey), cursor);
    if (position.kind !== 'after') throw new ValueError('the text is no cursor of a feed');
    return sequenceOf(position);
  }

  #fingerprint(partitionKey: string): string {
    return fingerprintOf(['feed', this.table.table, partitionKey]);
  }

  #requireNext(partitionKey: string, after: bigint, found: bigint): void {
    if (found === after + 1n) return;
    throw new FeedTrimmedError(
      `events ${after + 1n} to ${found - 1n} of '${partitionKey}' in ${this.table.table} are gone`,
      this.cursorAt(partitionKey, found - 1n),
    );
  }
}

/**
 * The payload of an event of this type; undefined for events of other types. Throws
 * `MalformedMessageError`, and `UnknownMessageError` for one from a newer program.
 */
export async function payloadOf<Given, Read>(
  message: MessageType<Given, Read>,
  { envelope }: FeedEvent,
): Promise<Read | undefined> {
  return envelope.type === message.type ? readPayload(message, envelope) : undefined;
}

/** The change feed of a table. Sends nothing. */
export function changeFeedOf(table: TableGateway): ChangeFeed {
  return new ChangeFeed(table);
}
