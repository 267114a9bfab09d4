import { own } from '../../base/own.js';
import type { Row, RowKey, RowProperties, WireValue } from './row.js';

/** The key of a row or of another object with a key. */
export function keyOf({ partitionKey, rowKey }: RowKey): RowKey {
  return { partitionKey, rowKey };
}

/** A text that is unique to this key. */
export function nameOfKey({ partitionKey, rowKey }: RowKey): string {
  return JSON.stringify([partitionKey, rowKey]);
}

/** The content of a row: its properties, and which of them are encrypted. */
export type RowContent = Pick<Row, 'properties' | 'encrypt'>;

/**
 * The content of a row, for a row with another key or in another table. Properties that were
 * encrypted in the source are encrypted in the copy as well.
 */
export function contentOf({
  properties,
  encrypt,
}: {
  readonly properties: RowProperties;
  readonly encrypt?: readonly string[] | undefined;
}): RowContent {
  return encrypt === undefined ? { properties } : { properties, encrypt };
}

/** The name of a row in texts for people. */
export function placeOfKey({ partitionKey, rowKey }: RowKey): string {
  return `('${partitionKey}', '${rowKey}')`;
}

export function sameKey(left: RowKey, right: RowKey): boolean {
  return left.partitionKey === right.partitionKey && left.rowKey === right.rowKey;
}

/** A text as it is stored. */
export function storedText(value: string): WireValue {
  return { type: 'String', value };
}

/** A stored text; undefined when there is none under this name, or a value of another type. */
export function textIn(properties: RowProperties, name: string): string | undefined {
  const wire = own(properties, name);
  return wire?.type === 'String' ? wire.value : undefined;
}

/** A stored whole number; 0 when there is none under this name. */
export function countIn(properties: RowProperties, name: string): bigint {
  const wire = own(properties, name);
  return wire?.type === 'Int64' || wire?.type === 'Int32' ? BigInt(wire.value) : 0n;
}
