import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { DecodeError } from '../../rows/model-error.js';
import { binaryBytesMax, rowBytesMax } from '../../rows/row-size.js';
import type { Row, RowKey, RowProperties, WireValue } from '../../rows/row.js';

// Long byte strings as properties of an entity (_Large00, _Large01, …) and as rows of their own.
// The grammar is in docs/reference/modeling-large-values.md.

/** The maximum number of parts that fit into one entity. */
export const partsMax = Math.floor(rowBytesMax / binaryBytesMax);

/** Bytes per part row: 14 full parts, which leaves space for its keys. */
export const rowPartBytes = 14 * binaryBytesMax;

/** The property of a part row with the RowKey of its entity. */
export const ownerProperty = '_LargeOf';

/** Part rows sort after rows that begin with a letter or a digit. */
export const { largePart: partRowPrefix } = reservedRowKeys;

function partName(index: number): string {
  return `_Large${String(index).padStart(2, '0')}`;
}

/** All names of parts, for a `select`. */
export const partNames: readonly string[] = Array.from({ length: partsMax }, (_, index) =>
  partName(index),
);

/** All parts but the last are full. */
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

/** Bytes that parts add to the size of an entity, by the service's formula. */
export function partsCost(bytes: number): number {
  return bytes + Math.ceil(bytes / binaryBytesMax) * (8 + 2 * partName(0).length + 4);
}

/** The maximum bytes of parts in a transaction: base64, names and types. */
export function partsRequestBytes(bytes: number): number {
  return 4 * Math.ceil(bytes / 3) + (1 + Math.ceil(bytes / binaryBytesMax)) * 80;
}

/** The number of part rows for these bytes. */
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

/** Whether a row is a part row and not an entity. */
export function isPartRow(row: Row): boolean {
  return row.rowKey.startsWith(partRowPrefix) && row.properties[ownerProperty] !== undefined;
}
