import { utf8 } from './plain-value.js';

/** The location of a value, without the account, so that a table can be copied to another. */
export interface ValueLocation {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly property: string;
}

/** Must change whenever the format of encrypted values does. */
const formatName = 'tabularium-encryption-1';

/**
 * The associated data of a randomised value: format, table, keys and property. The value does not
 * decrypt anywhere else. Table names are case-insensitive, hence the lower case.
 */
export function associatedDataOf({
  table,
  partitionKey,
  rowKey,
  property,
}: ValueLocation): Uint8Array {
  return lengthPrefixed([formatName, table.toLowerCase(), partitionKey, rowKey, property]);
}

/**
 * The associated data of a deterministic value: without keys, so that equal values are equal bytes.
 */
export function associatedDataOfEquals({
  table,
  property,
}: Omit<ValueLocation, keyof Keys>): Uint8Array {
  return lengthPrefixed([formatName, table.toLowerCase(), property]);
}

type Keys = Pick<ValueLocation, 'partitionKey' | 'rowKey'>;

/**
 * Each text as UTF-8 after its length in four bytes, big-endian, so that different lists give
 * different bytes.
 */
function lengthPrefixed(texts: readonly string[]): Uint8Array {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = utf8(text);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}
