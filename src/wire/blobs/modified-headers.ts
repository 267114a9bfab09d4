import { httpDate } from '../http/http-date.js';
import { etagHeader } from './etag.js';
import { formatSnapshotTime } from './snapshot-time.js';

/**
 * The headers of the answer to a write of a blob: `modifiedHeaders`, and the id of the version that
 * it made.
 */
export function writtenHeaders({
  modifiedMicros,
  versionMicros,
}: {
  readonly modifiedMicros: number;
  readonly versionMicros?: number;
}): string[] {
  const headers = modifiedHeaders(modifiedMicros);
  if (versionMicros !== undefined) headers.push(versionIdHeader, formatSnapshotTime(versionMicros));
  return headers;
}

export const versionIdHeader = 'x-ms-version-id';

/** `ETag` and `Last-Modified` of a blob or container: name, value, name, value. */
export function modifiedHeaders(modifiedMicros: number): string[] {
  return ['ETag', etagHeader(modifiedMicros), 'Last-Modified', httpDate(modifiedMicros)];
}
