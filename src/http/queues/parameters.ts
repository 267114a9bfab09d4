import {
  invalidQueryParameter,
  missingQueryParameter,
  outOfRangeQueryParameter,
} from '../../model/errors/query-errors.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import {
  messagesPerRequestMax,
  timeToLiveSecondsDefault,
  visibilitySecondsMax,
} from '../../services/queues/limits.js';
import { integerOf, rangedInteger } from '../operations/integer-parameter.js';
import { messageVersions } from './versions.js';

const messageCounts = { min: 1, max: messagesPerRequestMax };

/** `numofmessages` of a get or a peek (queue-service §8.2, §8.3). */
export function messageCountOf(query: QueryOptions): number {
  return rangedInteger(query, 'numofmessages', messageCounts) ?? 1;
}

const dequeueVisibilityDefault = 30;
const dequeueVisibilities = { min: 1, max: visibilitySecondsMax };
const dequeueVisibilitiesBefore2011 = { min: 1, max: 2 * 60 * 60 };

/** `visibilitytimeout` of a get, in seconds (queue-service §8.2). */
export function dequeueVisibilityOf(query: QueryOptions, version: string): number {
  const range =
    version < messageVersions.update ? dequeueVisibilitiesBefore2011 : dequeueVisibilities;
  return rangedInteger(query, 'visibilitytimeout', range) ?? dequeueVisibilityDefault;
}

const visibilities = { min: 0, max: visibilitySecondsMax };

/** `visibilitytimeout` of an update, in seconds; there is no default (queue-service §8.4). */
export function updateVisibilityOf(query: QueryOptions): number {
  const seconds = rangedInteger(query, 'visibilitytimeout', visibilities);
  if (seconds === undefined) throw missingQueryParameter('visibilitytimeout');
  return seconds;
}

/** `visibilitytimeout` of a put, in seconds; the first versions have none (queue-service §8.1). */
export function putVisibilityOf(query: QueryOptions, version: string): number {
  if (version < messageVersions.update) return 0;
  return rangedInteger(query, 'visibilitytimeout', visibilities) ?? 0;
}

const timesToLiveBefore2017 = { min: 1, max: timeToLiveSecondsDefault };

/**
 * `messagettl` of a put, in seconds; `Infinity` for a message that never expires (queue-service
 * §8.1).
 */
export function timeToLiveOf(query: QueryOptions, version: string): number {
  const text = query.get('messagettl');
  if (text === undefined) return timeToLiveSecondsDefault;
  const seconds = integerOf('messagettl', text);
  const isUnlimited = version >= messageVersions.unlimitedTimeToLive;
  if (isUnlimited && seconds === -1) return Infinity;
  if (seconds < 1) {
    const reason = isUnlimited
      ? 'It must be a positive number of seconds, or -1 for a message that never expires.'
      : 'It must be a positive number of seconds.';
    throw invalidQueryParameter('messagettl', text, reason);
  }
  const { min, max } = timesToLiveBefore2017;
  if (!isUnlimited && seconds > max) throw outOfRangeQueryParameter('messagettl', text, min, max);
  return seconds;
}

/** `popreceipt`, which changes of a message must carry. It is decoded later. */
export function popReceiptOf(query: QueryOptions): string {
  const receipt = query.get('popreceipt');
  if (receipt === undefined) throw missingQueryParameter('popreceipt');
  return receipt;
}

/** True for a peek. Other values are refused, because a get changes messages. */
export function peekOnlyOf(query: QueryOptions): boolean {
  const text = query.get('peekonly');
  if (text === undefined) return false;
  switch (text.toLowerCase()) {
    case 'true':
      return true;
    case 'false':
      return false;
    default:
      throw invalidQueryParameter('peekonly', text, 'It must be true or false.');
  }
}
