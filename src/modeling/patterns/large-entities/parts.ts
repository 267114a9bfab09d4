import { DecodeError } from '../../rows/model-error.js';
import { binaryBytesMax, rowBytesMax } from '../../rows/row-size.js';
import type { Row, RowKey, RowProperties, WireValue } from '../../rows/row.js';

// Long byte strings as properties of an entity (_Large00, _Large01, …) and as rows beside it. The
// grammar is in docs/reference/modeling-large-values.md.

/** Parts of one entity: more would not fit into it. */
export const partsMax = Math.floor(rowBytesMax / binaryBytesMax);

/** Bytes that a row beside an entity holds: 14 full parts, which leaves room for its keys. */
export const rowPartBytes = 14 * binaryBytesMax;

/** What a row beside an entity has besides its parts: the RowKey of its entity. */
export const ownerProperty = '_LargeOf';

/** Rows beside entities come after those that begin with a letter or a digit. */
export const partRowPrefix = '~large_';

function partName(index: number): string {
  return `_Large${String(index).padStart(2, '0')}`;
}

/** All names that parts can have, for a `select`. */
export const partNames: readonly string[] = Array.from({ length: partsMax }, (_, index) =>
  partName(index),
);

/** Every part full but the last. */
export function splitIntoParts(bytes: Uint8Array): RowProperties {
  const properties: Record<string, WireValue> = {};
  for (let at = 0, index = 0; at < bytes.length; at += binaryBytesMax, index += 1) {
    const value = bytes.subarray(at, at + binaryBytesMax);
    properties[partName(index)] = { type: 'Binary', value };
  }
  return properties;
}

/** The bytes of an entity's parts. */
export function joinParts(properties: RowProperties): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const name of partNames) {
    const part = properties[name];
    if (part === undefined) break;
    if (part.type !== 'Binary') throw new DecodeError(`the part ${name} is no Binary`);
    parts.push(part.value);
  }
  return Buffer.concat(parts);
}

/** What parts add to the size of an entity, by the service's formula. */
export function partsCost(bytes: number): number {
  return bytes + Math.ceil(bytes / binaryBytesMax) * (8 + 2 * partName(0).length + 4);
}

/** What parts take of a transaction at most: base64, and their names and type. */
export function partsRequestBytes(bytes: number): number {
  return 4 * Math.ceil(bytes / 3) + (1 + Math.ceil(bytes / binaryBytesMax)) * 80;
}

/** How many rows beside an entity hold so many bytes. */
export function partRowCount(bytes: number): number {
  return Math.ceil(bytes / rowPartBytes);
}

export function partRowKey(partitionKey: string, generation: string, index: number): RowKey {
  const number = String(index).padStart(2, '0');
  return { partitionKey, rowKey: `${partRowPrefix}${generation}_${number}` };
}

export function partRows(owner: RowKey, generation: string, bytes: Uint8Array): readonly Row[] {
  return Array.from({ length: partRowCount(bytes.length) }, (_, index) => ({
    ...partRowKey(owner.partitionKey, generation, index),
    properties: {
      [ownerProperty]: { type: 'String', value: owner.rowKey },
      ...splitIntoParts(bytes.subarray(index * rowPartBytes, (index + 1) * rowPartBytes)),
    },
  }));
}

/** Whether a row is beside an entity rather than one itself. */
export function isPartRow(row: Row): boolean {
  return row.rowKey.startsWith(partRowPrefix) && row.properties[ownerProperty] !== undefined;
}
