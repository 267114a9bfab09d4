import { httpDate } from '../http/http-date.js';
import { etagHeader } from './etag.js';

/** `ETag` and `Last-Modified` of a blob or container: name, value, name, value. */
export function modifiedHeaders(modifiedMicros: number): string[] {
  return ['ETag', etagHeader(modifiedMicros), 'Last-Modified', httpDate(modifiedMicros)];
}
