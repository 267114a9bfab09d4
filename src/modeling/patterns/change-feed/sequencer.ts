import { isConflict } from '../../table/contention.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { transactionWritesMax } from '../../table/gateway.js';
import { operationBytes, transactionBytesMax } from '../../table/request-size.js';
import type { MessageSink } from '../transactional-outbox/message-sink.js';
import type { WaitingMessage } from '../transactional-outbox/outbox-row.js';
import { countOf, countProperties, eventRow, headKey } from './feed-row.js';

/** The bytes that the head of the feed and the frame of a transaction take at most. */
const frameBytes = 8192;

/**
 * Moves messages from the outbox of a partition to its feed and numbers them: one point read of the
 * head, then one entity group transaction for up to 49 messages, which inserts the events, deletes
 * the outbox rows and updates the head. So each message becomes exactly one event, whatever
 * crashes, and the numbers of events never change.
 */
export function feedSinkOf(table: TableGateway): MessageSink {
  return {
    async take(partitionKey, messages) {
      const key = headKey(partitionKey);
      const head = await table.get(key);
      let last = countOf(head, 'Last');
      let etag = head?.etag;
      for (const group of groupsOf(partitionKey, messages)) {
        const events = group.map((message, index) =>
          eventRow(partitionKey, last + BigInt(index + 1), message),
        );
        last += BigInt(group.length);
        const row = { ...key, properties: countProperties('Last', last) };
        try {
          const [moved] = await table.transact([
            etag === undefined ? { kind: 'insert', row } : { kind: 'replace', row, etag },
            ...events.map((event) => ({ kind: 'insert', row: event }) as const),
            ...group.map(deletionOf),
          ]);
          etag = moved?.etag;
        } catch (error) {
          if (isConflict(error)) return false;
          throw error;
        }
      }
      return true;
    },
  };
}

function deletionOf({ row: { partitionKey, rowKey } }: WaitingMessage): RowWrite {
  return { kind: 'delete', key: { partitionKey, rowKey }, etag: '*' };
}

/** Groups of messages, in order, that each fit into one transaction. */
function* groupsOf(
  partitionKey: string,
  messages: readonly WaitingMessage[],
): Generator<readonly WaitingMessage[]> {
  let group: WaitingMessage[] = [];
  let bytes = frameBytes;
  for (const message of messages) {
    const row = eventRow(partitionKey, 0n, message);
    const size = operationBytes({ kind: 'insert', row }) + operationBytes(deletionOf(message));
    const isFull =
      1 + 2 * (group.length + 1) > transactionWritesMax || bytes + size > transactionBytesMax;
    if (isFull) {
      yield group;
      group = [];
      bytes = frameBytes;
    }
    group.push(message);
    bytes += size;
  }
  if (group.length > 0) yield group;
}
