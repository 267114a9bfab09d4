import { ticksOfVersion, versionOfTicks } from '../../model/edm/date-time.js';

/**
 * The etag of a blob or a container that was modified at this time, microseconds since 1970,
 * without quotes: `0x` and hexadecimal digits (blob-service §3.3). Distinct times have distinct
 * etags.
 */
export function etagText(modifiedMicros: number): string {
  return `0x${ticksOfVersion(modifiedMicros).toString(16).toUpperCase()}`;
}

/** The etag of this time as the `ETag` header has it, with quotes. */
export function etagHeader(modifiedMicros: number): string {
  return `"${etagText(modifiedMicros)}"`;
}

const form = /^0x[1-9A-F][0-9A-F]{14,15}$/;

/**
 * The time of an etag without quotes; undefined for a text that no blob of this server has as its
 * etag, which is no error.
 */
export function parseEtagText(text: string): number | undefined {
  return form.test(text) ? versionOfTicks(BigInt(text)) : undefined;
}
