import { invariant } from '../../../base/invariant.js';
import type { RowKey } from '../../rows/row.js';
import type { MessageType } from '../../worker/message-type.js';
import type { DerivingOutbox } from '../derived-data/deriving-table.js';
import type { OutboxMessage } from '../transactional-outbox/outbox.js';
import type { EntryChange } from './beside-plan.js';
import type { IndexIntent } from './index-intent.js';

/** The parts of an `Outbox` that are used here. Its table is that of the entities. */
export type IntentOutbox = DerivingOutbox;

export interface IntentOptions {
  /** Required when an index is kept up to date by the worker. */
  readonly outbox: IntentOutbox | undefined;
  /** The message type of intents. */
  readonly message: MessageType<IndexIntent, IndexIntent>;
}

/** The intent of one entity for the worker; undefined when no index elsewhere is concerned. */
export async function intentOf(
  { outbox, message }: IntentOptions,
  key: RowKey,
  changes: readonly EntryChange[],
): Promise<OutboxMessage | undefined> {
  const elsewhere = changes.filter(({ index }) => index.place !== 'same-partition');
  if (elsewhere.length === 0) return undefined;
  invariant(outbox !== undefined, 'an index is kept elsewhere and there is no outbox');
  const indexes = [...new Set(elsewhere.map(({ index }) => index.name))];
  const keysOf = (side: 'before' | 'after'): IndexIntent['before'] =>
    Object.fromEntries(
      indexes.map((name) => [
        name,
        elsewhere.flatMap(({ index, [side]: entry }) =>
          entry === undefined || index.name !== name ? [] : [entry.key],
        ),
      ]),
    );
  return outbox.message(key.partitionKey, message, {
    key,
    indexes,
    before: keysOf('before'),
    after: keysOf('after'),
  });
}
