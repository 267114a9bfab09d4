/**
 * The limit of an answer's headers together: clients that bound them do so at 16 KiB, and report
 * longer ones as a parse error.
 */
export const headerBlockBytesMax = 12 * 1024;

/** Reserved for the headers that each answer has. */
const otherHeadersBytes = 2 * 1024;

/** `DataServiceId` repeats the location; `Location` may be alone. */
export type LocationHeader = 'Location' | 'DataServiceId';

/**
 * The wanted location headers, each with the same address, that fit into the header block of an
 * answer or of a batch part. `DataServiceId` is dropped first, then `Location`.
 */
export function fittingLocations(
  location: string,
  wanted: readonly LocationHeader[],
): readonly LocationHeader[] {
  const room = headerBlockBytesMax - otherHeadersBytes;
  // No character takes more than three bytes: most addresses need not be measured.
  if (location.length * wanted.length * 3 <= room) return wanted;
  return wanted.slice(0, Math.floor(room / Math.max(1, Buffer.byteLength(location))));
}
