/**
 * Bytes that the headers of an answer may take together: clients that bound them do so at 16 KiB,
 * and name the longer ones a parse error.
 */
export const headerBlockBytesMax = 12 * 1024;

/** What is kept free for the headers that each answer has. */
const otherHeadersBytes = 2 * 1024;

/** `DataServiceId` repeats the location; `Location` may be alone. */
export type LocationHeader = 'Location' | 'DataServiceId';

/**
 * Those of the wanted headers, each with the same address, that fit into the header block of an
 * answer or of a part of a batch. `DataServiceId` is left out first, then `Location`.
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
