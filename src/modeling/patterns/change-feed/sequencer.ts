import { putOver, unlessConflict } from '../../table/conditional-write.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { divided } from '../../table/divided.js';
import { batchesOf } from '../../table/write-batches.js';
import type { MessageType } from '../../worker/message-type.js';
import type { MessageSink } from '../transactional-outbox/message-sink.js';
import type { WaitingMessage } from '../transactional-outbox/outbox-row.js';
import { countOf, countProperties, eventRow, headKey } from './feed-row.js';
import { RowsChangedMessage } from './rows-changed.js';

/** The room of the head of the feed in a transaction. */
const headRoom = { writes: 1, bytes: 8192 };

/** The messages that go into a feed. */
export interface FeedSinkOptions {
  /** Messages for the feed besides `RowsChangedMessage`. Others stay in the outbox. */
  readonly messages?: readonly FeedMessage[];
}

/** A type of messages. */
export type FeedMessage = Pick<MessageType<never, unknown>, 'type'>;

/**
 * Moves messages from the outbox of a partition to its feed and numbers them: one point read of the
 * head, then one entity group transaction for up to 49 messages, which inserts the events, deletes
 * the outbox rows and updates the head. So each message becomes exactly one event, whatever
 * crashes, and the numbers of events never change.
 */
export function feedSinkOf(
  table: TableGateway,
  { messages = [] }: FeedSinkOptions = {},
): MessageSink {
  const types = new Set([RowsChangedMessage, ...messages].map(({ type }) => type));
  return {
    takes: (type) => types.has(type),
    async take(partitionKey, messages) {
      const key = headKey(partitionKey);
      const head = await table.get(key);
      let last = countOf(head, 'Last');
      let etag = head?.etag;
      const movesOf = (message: WaitingMessage): readonly RowWrite[] => [
        { kind: 'insert', row: eventRow(partitionKey, 0n, message) },
        deletionOf(message),
      ];
      const move = async (group: readonly WaitingMessage[]): Promise<void> => {
        const events = group.map((message, index) =>
          eventRow(partitionKey, last + BigInt(index + 1), message),
        );
        const next = last + BigInt(group.length);
        const row = { ...key, properties: countProperties('Last', next) };
        const [moved] = await table.transact([
          putOver(row, etag),
          ...events.map((event) => ({ kind: 'insert', row: event }) as const),
          ...group.map(deletionOf),
        ]);
        [last, etag] = [next, moved?.etag];
      };
      return unlessConflict(async () => {
        for await (const group of batchesOf(messages, movesOf, headRoom)) {
          await divided(group, move);
        }
        return true;
      });
    },
  };
}

function deletionOf({ row: { partitionKey, rowKey } }: WaitingMessage): RowWrite {
  return { kind: 'delete', key: { partitionKey, rowKey }, etag: '*' };
}
