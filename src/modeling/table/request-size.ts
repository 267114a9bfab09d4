import { unreachable } from '../../base/invariant.js';
import { rowBytes } from '../rows/row-size.js';
import type { RowProperties, WireValue } from '../rows/row.js';
import { keyOfWrite, type RowWrite, type TableGateway } from './gateway.js';

/** The maximum size of a transaction's body. */
export const transactionBytesMax = 4 * 1024 * 1024;
/** Bounds the endpoint, headers and boundaries of one operation; those of the client take 400. */
const operationOverheadBytes = 700;
const transactionOverheadBytes = 500;

/**
 * An upper bound of the size of a transaction, as the official client writes it, in bytes. It
 * exceeds the real size by at most some hundred bytes for each operation.
 */
export function transactionBytes(writes: Iterable<RowWrite>): number {
  let bytes = transactionOverheadBytes;
  for (const write of writes) bytes += operationBytes(write);
  return bytes;
}

/**
 * A cheap upper bound of `transactionBytes`, from the sizes of the rows as the service counts them.
 * JSON takes at most six bytes for the two of a character, and a URL nine for one of a key; the
 * constants cover base64, numbers, names and punctuation.
 */
export function transactionBytesBound(writes: Iterable<RowWrite>): number {
  let bytes = transactionOverheadBytes;
  for (const write of writes) {
    const { partitionKey, rowKey } = keyOfWrite(write);
    bytes += operationOverheadBytes + 44 + 15 * (partitionKey.length + rowKey.length);
    if (write.kind === 'delete') continue;
    bytes += 3 * rowBytes(write.row) + 50 * Object.keys(write.row.properties).length;
  }
  return bytes;
}

/**
 * The size of a transaction that is too large for a table; undefined for others, and where only the
 * table can tell.
 */
export function bytesBeyondTransaction(
  { storesLargeValues = false }: Pick<TableGateway, 'storesLargeValues'>,
  writes: readonly RowWrite[],
): number | undefined {
  if (storesLargeValues) return undefined;
  // The exact count is costly, and few transactions come near the limit.
  if (transactionBytesBound(writes) <= transactionBytesMax) return undefined;
  const bytes = transactionBytes(writes);
  return bytes > transactionBytesMax ? bytes : undefined;
}

/** The share of one write in `transactionBytes`. */
export function operationBytes(write: RowWrite): number {
  const { partitionKey, rowKey } = keyOfWrite(write);
  const url = encodedBytes(partitionKey) + encodedBytes(rowKey);
  if (write.kind === 'delete') return operationOverheadBytes + url;
  const keys = jsonBytes(partitionKey) + jsonBytes(rowKey) + 40;
  return operationOverheadBytes + url + keys + propertiesBytes(write.row.properties);
}

/** URL encoding takes at most three bytes for one of UTF-8. */
function encodedBytes(text: string): number {
  return 3 * Buffer.byteLength(text);
}

function propertiesBytes(properties: RowProperties): number {
  let bytes = 0;
  for (const name of Object.keys(properties)) {
    const wire = properties[name];
    if (wire === undefined) continue;
    // "name":value,"name@odata.type":"Edm.DateTime",
    bytes += 2 * Buffer.byteLength(name) + 42 + valueBytes(wire);
  }
  return bytes;
}

function valueBytes(wire: WireValue): number {
  switch (wire.type) {
    case 'String':
      return jsonBytes(wire.value);
    case 'Binary':
      return 4 * Math.ceil(wire.value.length / 3) + 2;
    case 'Guid':
      return 38;
    case 'Int32':
    case 'Int64':
    case 'Double':
    case 'Boolean':
    case 'DateTime':
      return 32;
    default:
      return unreachable(wire);
  }
}

/** Characters whose JSON may differ from their UTF-8. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/;

function jsonBytes(text: string): number {
  return escaped.test(text) ? Buffer.byteLength(JSON.stringify(text)) : Buffer.byteLength(text) + 2;
}
