import { createHash } from 'node:crypto';
import { ValueError } from '../rows/model-error.js';
import { listOfPacked, packedList } from '../rows/packed-list.js';

/**
 * The position at which a query resumes. As text it is opaque and can be stored. It belongs to one
 * query; others refuse it.
 */
export type CursorPosition =
  /** The service's continuation token. */
  | { readonly kind: 'token'; readonly token: string }
  /** The keys of the last row returned. */
  | { readonly kind: 'after'; readonly partitionKey: string; readonly rowKey: string };

const format = 1;

/** Identifies a query by its filters, selection and order. */
export function fingerprintOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}

export function writeCursor(fingerprint: string, position: CursorPosition): string {
  const value =
    position.kind === 'token'
      ? [format, fingerprint, position.token]
      : [format, fingerprint, position.partitionKey, position.rowKey];
  return packedList(value);
}

/** Throws `ValueError` for a text that is no cursor, or the cursor of another query. */
export function readCursor(fingerprint: string, cursor: string): CursorPosition {
  const [version, owner, first, second] = listOfPacked(cursor);
  if (version !== format || typeof owner !== 'string' || typeof first !== 'string') {
    throw new ValueError('the text is no cursor of this library');
  }
  if (owner !== fingerprint) {
    throw new ValueError('the cursor belongs to another query: its filter or its order differs');
  }
  return typeof second === 'string'
    ? { kind: 'after', partitionKey: first, rowKey: second }
    : { kind: 'token', token: first };
}
