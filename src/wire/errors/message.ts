import { formatFullDateTime, ticksFromMicros } from '../../model/edm/date-time.js';
import type { StorageError } from '../../model/errors/storage-error.js';

/** The position of an error in a batch. */
export type BatchPlace =
  { readonly kind: 'changeset'; readonly operationCount: number } | { readonly kind: 'query' };

/**
 * The message of an error inside a batch, with the zero-based index of its operation where the
 * service includes one (table-service §9.5): validation errors always have it, storage errors only
 * in a changeset of several operations. A lone query always does (table-service §9.4).
 */
export function batchMessage(error: StorageError, place: BatchPlace): string {
  const silent =
    place.kind === 'changeset' && place.operationCount <= 1 && error.layer === 'storage';
  return silent ? error.message : `${error.operationIndex ?? 0}:${error.message}`;
}

/** The request id and time in every error body. */
export interface ErrorStamp {
  readonly requestId: string;
  /** Microseconds since 1970. */
  readonly timeMicros: number;
}

/** The text that every body shape carries: message, request id and time (table-service §3.1). */
export function stampedMessage(message: string, stamp: ErrorStamp): string {
  const time = formatFullDateTime(ticksFromMicros(stamp.timeMicros));
  return `${message}\nRequestId:${stamp.requestId}\nTime:${time}`;
}
