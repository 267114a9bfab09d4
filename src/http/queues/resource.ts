import { StorageError } from '../../model/errors/storage-error.js';
import { decodeOnce } from '../../wire/http/percent.js';

/** The resource in a request's path, below the account (queue-service §1.2). */
export type QueueResource =
  | { readonly kind: 'service' }
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'messages'; readonly queue: string }
  | { readonly kind: 'message'; readonly queue: string; readonly id: string };

const service: QueueResource = { kind: 'service' };
const messagesSegment = 'messages';

/**
 * Parses the path as sent, after the account and without the query string. Segments are decoded
 * exactly once, after the split. Names and ids are not validated.
 *
 * Throws `InvalidUri` for a path of another shape, empty segments included: `/queue/messages/` may
 * be a deletion whose id got lost, and must not clear the queue.
 */
export function parseQueuePath(rawPathAfterAccount: string): QueueResource {
  if (rawPathAfterAccount === '/') return service;
  const queueEnd = rawPathAfterAccount.indexOf('/', 1);
  if (queueEnd < 0) return { kind: 'queue', queue: segment(rawPathAfterAccount.slice(1)) };
  const queue = segment(rawPathAfterAccount.slice(1, queueEnd));
  const messagesEnd = queueEnd + 1 + messagesSegment.length;
  if (!rawPathAfterAccount.startsWith(messagesSegment, queueEnd + 1)) {
    throw new StorageError('InvalidUri');
  }
  if (rawPathAfterAccount.length === messagesEnd) return { kind: 'messages', queue };
  if (rawPathAfterAccount[messagesEnd] !== '/') throw new StorageError('InvalidUri');
  return { kind: 'message', queue, id: segment(rawPathAfterAccount.slice(messagesEnd + 1)) };
}

function segment(raw: string): string {
  if (raw === '' || raw.includes('/')) throw new StorageError('InvalidUri');
  try {
    return decodeOnce(raw);
  } catch (cause) {
    throw new StorageError('InvalidUri', { cause });
  }
}
