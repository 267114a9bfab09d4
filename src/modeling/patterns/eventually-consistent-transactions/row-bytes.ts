import type { Bytes } from '../../../base/bytes.js';
import { rowFromJson, rowToJson } from '../../rows/row-json.js';
import type { Row } from '../../rows/row.js';
import { DecodeError } from '../../table/errors.js';

/**
 * A row as the UTF-8 bytes of JSON, with the types of its values: for blobs and files. See
 * `RowJson`. Throws `ValueError` for a row with properties to encrypt: the bytes would show them.
 */
export function bytesOfRow(row: Row): Bytes {
  return Buffer.from(JSON.stringify(rowToJson(row)));
}

/** Throws `DecodeError` for bytes that `bytesOfRow` does not produce. */
export function rowOfBytes(bytes: Bytes): Row {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString());
  } catch (cause) {
    throw new DecodeError('the content is no JSON', { cause });
  }
  return rowFromJson(json);
}
