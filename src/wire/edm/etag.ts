import {
  formatEscapedTimestamp,
  parseDateTime,
  versionOfTicks,
} from '../../model/edm/date-time.js';

/** The ETag of an entity from its version, in microseconds since 1970 (table-service §2.7). */
export function formatEtag(version: number): string {
  return `W/"datetime'${formatEscapedTimestamp(version)}'"`;
}

/** The condition of an `If-Match` header; assignable to the condition of a write. */
export type IfMatch =
  | { readonly kind: 'any' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'never' };

const any: IfMatch = { kind: 'any' };
const never: IfMatch = { kind: 'never' };

const datePrefix = "datetime'";
const valueStart = 'W/"'.length;

/**
 * Parses an `If-Match` header (table-service §2.8). `never` is a well-formed weak etag that no
 * entity of this server has; undefined is malformed: a strong etag, a bare word, a list, an empty
 * text. All spellings of an etag's instant are equal: letter case of `%3A`, trailing zeros.
 */
export function parseIfMatch(text: string): IfMatch | undefined {
  if (text === '*') return any;
  const end = text.length - 1;
  const weak = text.startsWith('W/"') || text.startsWith('w/"');
  if (!weak || end < valueStart || text.indexOf('"', valueStart) !== end) return undefined;
  if (!text.startsWith(datePrefix, valueStart) || text.charCodeAt(end - 1) !== 0x27) return never;
  const instant = text.slice(valueStart + datePrefix.length, end - 1);
  const ticks = parseDateTime(instant.replaceAll('%3A', ':').replaceAll('%3a', ':'));
  const version = ticks === undefined ? undefined : versionOfTicks(ticks);
  return version === undefined ? never : { kind: 'version', version };
}
