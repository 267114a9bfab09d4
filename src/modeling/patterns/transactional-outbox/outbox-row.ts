import { own } from '../../../base/own.js';
import { messageOf } from '../../../base/thrown.js';
import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { DecodeError } from '../../rows/model-error.js';
import { contentOf, keyOf } from '../../rows/row-parts.js';
import type { Row, RowKey, RowProperties, StoredRow } from '../../rows/row.js';
import { stringUnitsMax } from '../../rows/row-size.js';
import type { RowSelection } from '../../table/row-selection.js';
import {
  decodeEnvelope,
  encodeEnvelope,
  MessageTooLargeError,
  type Envelope,
} from '../../worker/envelope.js';

/**
 * An outbox row is in the partition of the change that it announces:
 *
 *   RowKey   ~outbox_<ticks of the writer's clock, 19 digits>_<8 random bytes in hex>
 *   Message  the envelope, as it is put into a queue
 *   Failures, LastError, CommittedAt   after its dispatch has failed
 *
 * A poison message has the same key with the prefix ~outbox-poison_. The tilde sorts these rows
 * after all others that begin with a letter or digit, so that ranges of those do not include them.
 */
const { waitingMessage: waitingPrefix, poisonMessage: poisonPrefix } = reservedRowKeys;
const ticksDigits = 19;

export interface WaitingMessage {
  readonly row: StoredRow;
  readonly envelope: Envelope;
}

export function outboxRow(
  partitionKey: string,
  envelope: Envelope,
  unique: { readonly ticks: bigint; readonly random: string },
): Row {
  const text = encodeEnvelope(envelope, 'text');
  if (text.length > stringUnitsMax) {
    throw new MessageTooLargeError(
      `a message of type '${envelope.type}' takes ${text.length} UTF-16 code units, more than the ` +
        `${stringUnitsMax} of a row; keep large data in a row or a blob and send its key`,
    );
  }
  const ticks = String(unique.ticks).padStart(ticksDigits, '0');
  return {
    partitionKey,
    rowKey: `${waitingPrefix}${ticks}_${unique.random}`,
    properties: { Message: { type: 'String', value: text } },
  };
}

const keyShape = new RegExp(`^(?:${waitingPrefix}|${poisonPrefix})[0-9]{19}_[0-9a-f]{16}$`);

/** Whether an outbox wrote a row: other programs' rows may have keys that begin likewise. */
export function isOutboxRow({ rowKey, properties }: Row): boolean {
  return keyShape.test(rowKey) && own(properties, 'Message')?.type === 'String';
}

/** Selects the waiting messages of a partition. `isOutboxRow` tells them from other rows. */
export function waitingMessages(partitionKey: string): RowSelection {
  return { partitionKey, rowKey: rangeWithPrefix(waitingPrefix) };
}

/** Selects the poison messages of a partition likewise. */
export function poisonMessages(partitionKey: string): RowSelection {
  return { partitionKey, rowKey: rangeWithPrefix(poisonPrefix) };
}

/** The key of a message after it was given up. */
export function poisonKey({ partitionKey, rowKey }: RowKey): RowKey {
  return { partitionKey, rowKey: poisonPrefix + rowKey.slice(waitingPrefix.length) };
}

export function waitingKey({ partitionKey, rowKey }: RowKey): RowKey {
  return { partitionKey, rowKey: waitingPrefix + rowKey.slice(poisonPrefix.length) };
}

/** The id of a message; undefined for a row that no outbox wrote, or that cannot be read. */
export function idOfRow(row: Row): string | undefined {
  const decoded = decodedMessage(row);
  return decoded?.kind === 'envelope' ? decoded.envelope.id : undefined;
}

function decodedMessage({ properties }: Row): ReturnType<typeof decodeEnvelope> | undefined {
  const text = properties['Message'];
  return text?.type === 'String' ? decodeEnvelope(text.value) : undefined;
}

/** Throws `DecodeError` for a row that no outbox wrote. */
export function envelopeOfRow(row: Row): Envelope {
  const { rowKey } = row;
  const decoded = decodedMessage(row);
  if (decoded?.kind === 'envelope') return decoded.envelope;
  throw new DecodeError(`'${rowKey}' holds no message: ${decoded?.reason ?? 'it has no Message'}`);
}

/** When the transaction of the message was committed: ticks of the service's clock. */
export function committedAt({ properties, timestamp }: StoredRow): bigint {
  const kept = properties['CommittedAt'];
  return kept?.type === 'DateTime' ? kept.value : timestamp;
}

/** How often dispatching a message has failed. */
export function failuresOf({ properties }: Row): number {
  const failures = properties['Failures'];
  return failures?.type === 'Int32' ? failures.value : 0;
}

const errorUnitsMax = 1000;

/** The row after another failure. Writing it changes its Timestamp, so the first one is kept. */
export function withFailure(row: StoredRow, error: unknown): Row {
  const text = messageOf(error);
  const properties: RowProperties = {
    ...row.properties,
    Failures: { type: 'Int32', value: failuresOf(row) + 1 },
    CommittedAt: { type: 'DateTime', value: committedAt(row) },
    LastError: { type: 'String', value: text.slice(0, errorUnitsMax) },
  };
  return { ...keyOf(row), ...contentOf({ ...row, properties }) };
}

/** The row without failures, but with its place in the order. */
export function withoutFailures({ properties, ...key }: Row): Row {
  const { Message, CommittedAt } = properties;
  return {
    ...key,
    properties: {
      ...(Message === undefined ? {} : { Message }),
      ...(CommittedAt === undefined ? {} : { CommittedAt }),
    },
  };
}
