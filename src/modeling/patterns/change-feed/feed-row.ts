import { DecodeError, ValueError } from '../../rows/model-error.js';
import { contentOf } from '../../rows/row-parts.js';
import type { Row, RowKey, RowProperties, StoredRow } from '../../rows/row.js';
import { escapeKeyText } from '../../definition/key-escape.js';
import { rangeWithPrefix, successorOfPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import type { RowSelection } from '../../table/row-selection.js';
import {
  committedAt,
  envelopeOfRow,
  type WaitingMessage,
} from '../transactional-outbox/outbox-row.js';
import type { Envelope } from '../../worker/envelope.js';

/**
 * A feed is stored in the partition of its changes:
 *
 *   ~feed_<sequence, 19 digits>   Message: the envelope; At: when its change was committed
 *   ~feed-head                    Last: the latest sequence
 *   ~feed-group_<name>            Done: the latest sequence that the group has handled
 *
 * Sequences count up from 1 without gaps. The row of a sequence never changes.
 */
const { feedEvent: eventPrefix, feedGroup: groupPrefix, feedHead } = reservedRowKeys;
const sequenceDigits = 19;

/** One change in a feed. */
export interface FeedEvent {
  /** Within its partition, from 1, without gaps. */
  readonly sequence: bigint;
  readonly envelope: Envelope;
  /** Ticks: when the change was committed, by the service's clock. */
  readonly at: bigint;
  /** The cursor after this event. */
  readonly cursor: string;
}

export function eventKey(partitionKey: string, sequence: bigint): RowKey {
  const digits = String(sequence).padStart(sequenceDigits, '0');
  return { partitionKey, rowKey: eventPrefix + digits };
}

const eventShape = new RegExp(`^${eventPrefix}[0-9]{${sequenceDigits}}$`);

/**
 * Whether a feed wrote a row as an event: others may have rows with keys that begin likewise. `At`
 * must have been read.
 */
export function isEventRow({ rowKey, properties }: Row): boolean {
  return eventShape.test(rowKey) && properties['At']?.type === 'DateTime';
}

/** Whether a feed wrote a row as the position of a consumer group. */
export function isGroupRow({ rowKey, properties }: Row): boolean {
  return rowKey.startsWith(groupPrefix) && properties['Done']?.type === 'Int64';
}

export function sequenceOf({ rowKey }: RowKey): bigint {
  const digits = rowKey.startsWith(eventPrefix) ? rowKey.slice(eventPrefix.length) : '';
  if (/^\d{19}$/.test(digits)) return BigInt(digits);
  throw new DecodeError(`'${rowKey}' is no row of a feed`);
}

export function eventRow(partitionKey: string, sequence: bigint, { row }: WaitingMessage): Row {
  const { Message } = row.properties;
  const properties: RowProperties = {
    ...(Message === undefined ? {} : { Message }),
    At: { type: 'DateTime', value: committedAt(row) },
  };
  return { ...eventKey(partitionKey, sequence), ...contentOf({ ...row, properties }) };
}

export function eventOf(row: StoredRow, cursor: string): FeedEvent {
  const at = row.properties['At'];
  return {
    sequence: sequenceOf(row),
    envelope: envelopeOfRow(row),
    at: at?.type === 'DateTime' ? at.value : row.timestamp,
    cursor,
  };
}

/** Selects the events after a sequence. */
export function eventsAfter(partitionKey: string, sequence: bigint): RowSelection {
  const { rowKey: after } = eventKey(partitionKey, sequence);
  return { partitionKey, rowKey: { after, before: successorOfPrefix(eventPrefix) } };
}

export function headKey(partitionKey: string): RowKey {
  return { partitionKey, rowKey: feedHead };
}

export function groupKey(partitionKey: string, group: string): RowKey {
  if (group === '') throw new ValueError('a consumer group needs a name');
  return { partitionKey, rowKey: groupPrefix + escapeKeyText(group, '_') };
}

/** Selects the rows of consumer groups. */
export function groupsOf(partitionKey: string): RowSelection {
  return { partitionKey, rowKey: rangeWithPrefix(groupPrefix) };
}

/** A count in a row; 0 when the row or the count is absent. */
export function countOf(row: Row | undefined, name: 'Last' | 'Done'): bigint {
  const count = row?.properties[name];
  return count?.type === 'Int64' ? count.value : 0n;
}

export function countProperties(name: 'Last' | 'Done', value: bigint): RowProperties {
  return { [name]: { type: 'Int64', value } };
}
