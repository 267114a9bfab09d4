import { utf8 } from './plain-value.js';

/** Where a value belongs. The account is left out, so that a table can be copied to another. */
export interface ValuePlace {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly property: string;
}

/** Changes when anything about the format of encrypted values does. */
const formatName = 'tabularium-encryption-1';

/**
 * What a randomised value is bound to: the format, table, keys and property. In any other place it
 * does not decrypt. Names of tables do not depend on their case, hence the small letters.
 */
export function placeOfValue({ table, partitionKey, rowKey, property }: ValuePlace): Uint8Array {
  return lengthPrefixed([formatName, table.toLowerCase(), partitionKey, rowKey, property]);
}

/** As `placeOfValue`, without the keys: equal values must be equal bytes in every row. */
export function placeOfEqualValues({ table, property }: Omit<ValuePlace, keyof Keys>): Uint8Array {
  return lengthPrefixed([formatName, table.toLowerCase(), property]);
}

type Keys = Pick<ValuePlace, 'partitionKey' | 'rowKey'>;

/**
 * Each text as UTF-8 behind its length in four bytes, big-endian: no two lists give equal bytes.
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
