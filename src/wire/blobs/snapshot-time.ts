import { formatTimestamp, parseDateTime, versionOfTicks } from '../../model/edm/date-time.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';

const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/;

/**
 * The name of the snapshot or the version of this time, microseconds since 1970: a date and time
 * with exactly seven digits of the fraction (blob-service §16.1). Names sort by time.
 */
export function formatSnapshotTime(micros: number): string {
  return formatTimestamp(micros);
}

/**
 * The time of a snapshot or version that a request names, in the parameter `name`; undefined for a
 * time that nothing of this server is named by.
 *
 * @throws {StorageError} `InvalidQueryParameterValue` for a text of another form
 */
export function parseSnapshotTime(
  name: 'snapshot' | 'versionid' | 'prevsnapshot',
  text: string,
): number | undefined {
  const ticks = form.test(text) ? parseDateTime(text) : undefined;
  if (ticks === undefined) {
    throw invalidQueryParameter(name, text, 'It must be a time as the service has written it.');
  }
  return versionOfTicks(ticks);
}
