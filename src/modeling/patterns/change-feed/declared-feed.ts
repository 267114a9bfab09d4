import { isReservedKey } from '../../definition/reserved-keys.js';
import { DefinitionError } from '../../rows/model-error.js';
import { keyOfWrite, type RowWrite } from '../../table/gateway.js';
import type { MoveTelling } from '../derived-data/announcement.js';
import type { DerivationDeclaration } from '../derived-data/declaration.js';
import type { DerivingOutbox } from '../derived-data/deriving-table.js';
import { divided } from '../../table/divided.js';
import type { OutboxMessage } from '../transactional-outbox/outbox.js';
import { MessageTooLargeError } from '../../worker/envelope.js';
import { changeOf, RowsChangedMessage, type RowsChanged } from './rows-changed.js';
import { feedSinkOf, type FeedSinkOptions } from './sequencer.js';

/** The content of a declared feed. */
export interface ChangeFeedOptions extends FeedSinkOptions {
  /**
   * Whether the feed contains the steps of moves: the copies, hand-overs and deletes of a
   * re-keying, and all writes of `archiveEntities`. Announced when absent.
   */
  readonly moves?: MoveTelling;
}

/**
 * A feed of all changes of a table, for `changeFeedOf`: each transaction stores a
 * `RowsChangedMessage` that names its rows, those of counters and copies included. Rows of indexes,
 * which follow from their entities, and rows of the library, whose RowKeys begin with `~` or `!`,
 * are not named. Costs a row for each message in the transaction, and no read; the relay numbers it
 * into the feed.
 * Where the keys of the rows do not fit into one message there are several, in their order.
 */
export function changeFeed({
  moves = 'announced',
  ...options
}: ChangeFeedOptions = {}): DerivationDeclaration {
  return {
    bind({ outbox }) {
      if (outbox === undefined) throw new DefinitionError('a change feed needs an outbox');
      return {
        // Nothing to compare: a message is stored with its change, or neither is.
        handlers: [],
        sink: feedSinkOf(outbox.table, options),
        derivation: {
          ignoresMoves: moves === 'silent',
          concerns: () => false,
          isSource: () => false,
          announced: (writes) => announcementOf(outbox, writes),
        },
      };
    },
  };
}

async function announcementOf(
  outbox: DerivingOutbox,
  writes: readonly RowWrite[],
): Promise<readonly OutboxMessage[]> {
  const told = writes.filter((write) => !isReservedKey(keyOfWrite(write).rowKey));
  const [first] = told;
  if (first === undefined) return [];
  const { partitionKey } = keyOfWrite(first);
  const rows = told.map((write) => ({
    rowKey: keyOfWrite(write).rowKey,
    change: changeOf(write.kind),
  }));
  return messagesOf(outbox, { partitionKey, rows });
}

/** One message, or several when the keys do not fit into one. */
async function messagesOf(
  outbox: DerivingOutbox,
  { partitionKey, rows }: RowsChanged,
): Promise<readonly OutboxMessage[]> {
  const messages: OutboxMessage[] = [];
  const add = async (some: RowsChanged['rows']): Promise<void> => {
    const payload = { partitionKey, rows: some };
    messages.push(await outbox.message(partitionKey, RowsChangedMessage, payload));
  };
  await divided(rows, add, (error) => error instanceof MessageTooLargeError);
  return messages;
}
