import type { Bytes } from '../../base/bytes.js';
import type { Ingestion } from '../../kv/ingestion.js';
import type { Entry } from '../../kv/store.js';

/**
 * An ingestion without a guard, packed into a few buffers that can be transferred to another
 * thread. Entries first, then deletes.
 */
export interface PackedIngestion {
  readonly floor: number;
  /** All keys and values, concatenated. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The length of each key and of its value. */
  readonly lengths: Uint32Array<ArrayBuffer>;
  readonly versions: Float64Array<ArrayBuffer>;
}

export function packIngestion({ entries, deletes, floor }: Ingestion): PackedIngestion {
  let size = 0;
  for (const { key, value } of entries) size += key.length + value.length;
  for (const key of deletes) size += key.length;
  const bytes = new Uint8Array(size);
  const lengths = new Uint32Array(2 * (entries.length + deletes.length));
  const versions = new Float64Array(entries.length);
  let at = 0;
  const add = (part: Bytes): void => {
    bytes.set(part, at);
    at += part.length;
  };
  for (const [index, { key, value, version }] of entries.entries()) {
    lengths[2 * index] = key.length;
    lengths[2 * index + 1] = value.length;
    versions[index] = version;
    add(key);
    add(value);
  }
  for (const [index, key] of deletes.entries()) {
    lengths[2 * (entries.length + index)] = key.length;
    add(key);
  }
  return { floor, bytes, lengths, versions };
}

/** The buffers to transfer. */
export function memoryOf({ bytes, lengths, versions }: PackedIngestion): ArrayBuffer[] {
  return [bytes.buffer, lengths.buffer, versions.buffer];
}

export function unpackIngestion(packed: PackedIngestion): Ingestion {
  const { floor, bytes, lengths, versions } = packed;
  const entries: Entry[] = [];
  const deletes: Bytes[] = [];
  let at = 0;
  const next = (length = 0): Bytes => bytes.subarray(at, (at += length));
  for (let index = 0; 2 * index < lengths.length; index += 1) {
    const key = next(lengths[2 * index]);
    const version = versions[index];
    if (version === undefined) deletes.push(key);
    else entries.push({ key, value: next(lengths[2 * index + 1]), version });
  }
  return { entries, deletes, floor };
}
