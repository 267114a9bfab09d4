import { bucketOf } from '../hashes/text-hash.js';
import type { KnownLimit } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { countRefusal, refused, type Refusal } from './refusal.js';
import { sharesOf } from './shares.js';

// Queues: a queue is one partition, by its name.

/** The text by which the service places a queue; all its messages are there. */
export function queuePartitionKey({
  account,
  queue,
}: {
  readonly account: string;
  readonly queue: string;
}): string {
  return `${account}/${queue}`;
}

/**
 * How many queues carry a rate, in messages of 1 KiB per second. Refused: an invalid rate, and a
 * limit of 0.
 */
export function queuesFor(
  rate: number,
  own: readonly KnownLimit[] = [],
): { readonly kind: 'queues'; readonly queues: number } | Refusal {
  if (!(rate >= 0 && rate < Infinity)) {
    return refused('bad-count', `${rate} messages/s; give a number from 0 on`);
  }
  const queues = sharesOf(rate, limitOf({ system: 'queue', name: 'queue-rate' }, own));
  return typeof queues === 'number' ? Object.freeze({ kind: 'queues', queues }) : queues;
}

/** The queue of a key among several: messages with one key keep to one queue. */
export function queueOfKey(
  key: string,
  queues: readonly string[],
): { readonly kind: 'queue'; readonly queue: string } | Refusal {
  const bad = countRefusal('queues', queues.length);
  if (bad !== undefined) return bad;
  return Object.freeze({ kind: 'queue', queue: queues[bucketOf(key, queues.length)] ?? '' });
}
