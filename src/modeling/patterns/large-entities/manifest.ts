import { isRecord } from '../../../base/record.js';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import { stringUnitsMax } from '../../rows/row-size.js';
import type { RowProperties } from '../../rows/row.js';
import type { ValueEncoding } from './compression.js';
import type { LargeType } from './value-bytes.js';

// The property _Large of an entity describes its large values. The grammar is in
// docs/reference/modeling-large-values.md; the names are permanent.

export const manifestProperty = '_Large';

/** In parts of the entity itself, in rows of their own, or in a blob. */
export type ValueLocation = 'entity' | 'rows' | 'blob';

export interface ManifestValue {
  readonly type: LargeType;
  readonly at: ValueLocation;
  readonly encoding: ValueEncoding;
  /** The offset in the bytes of its location; 0 in a blob. */
  readonly from: number;
  /** Bytes as stored. */
  readonly stored: number;
  /** Bytes of the value; of a text, in UTF-8. */
  readonly bytes: number;
  /** SHA-256 of the value, in base64. */
  readonly sha256: string;
  /** The name of its blob. */
  readonly blob?: string;
  /** What the property itself holds, for programs that do not know this description. */
  readonly address?: string;
}

export interface Manifest {
  /** Identifies the write: 32 hexadecimal digits. */
  readonly generation: string;
  /** The number of rows with the bytes of the location 'rows'. */
  readonly rows: number;
  /** By the name of the property. */
  readonly values: Readonly<Record<string, ManifestValue>>;
}

const version = 1;

/** Throws `ValueError` when the descriptions of too many values do not fit. */
export function renderManifest({ generation, rows, values }: Manifest): string {
  const described = Object.entries(values).map(([name, value]) => [name, describe(value)]);
  const text = JSON.stringify({
    v: version,
    gen: generation,
    ...(rows === 0 ? {} : { rows }),
    values: Object.fromEntries(described),
  });
  if (text.length <= stringUnitsMax) return text;
  throw new ValueError(
    `${described.length} large properties are too many for one entity: join some as JSON`,
  );
}

function describe(value: ManifestValue) {
  const { type, at, encoding, from, stored, bytes, sha256, blob, address } = value;
  return {
    type,
    at,
    ...(encoding === 'identity' ? {} : { enc: encoding }),
    ...(from === 0 ? {} : { from }),
    stored,
    bytes,
    sha256,
    ...(blob === undefined ? {} : { blob }),
    ...(address === undefined ? {} : { address }),
  };
}

/** The manifest of a stored entity; undefined when it has no large values. Throws `DecodeError`. */
export function manifestOf(properties: RowProperties): Manifest | undefined {
  const stored = properties[manifestProperty];
  if (stored === undefined) return undefined;
  if (stored.type !== 'String') throw malformed(`it is ${stored.type}`);
  return parseManifest(stored.value);
}

export function parseManifest(text: string): Manifest {
  const { v, gen, rows = 0, values } = parseObject(text);
  if (v !== version) throw malformed(`version ${JSON.stringify(v)} is not known`);
  if (typeof gen !== 'string' || !/^[0-9a-f]{32}$/.test(gen))
    throw malformed('it has no generation');
  if (!isCount(rows)) throw malformed('its count of rows is none');
  if (!isRecord(values)) throw malformed('it lists no values');
  const parsed = Object.entries(values).map(([name, value]) => [name, parseValue(name, value)]);
  return { generation: gen, rows, values: Object.fromEntries(parsed) };
}

function parseValue(name: string, given: unknown): ManifestValue {
  if (!isRecord(given)) throw malformed(`'${name}' is not described`);
  const { type, at, enc = 'identity', from = 0, stored, bytes, sha256, blob, address } = given;
  if (type !== 'String' && type !== 'Binary') throw malformed(`'${name}' has no type`);
  if (at !== 'entity' && at !== 'rows' && at !== 'blob')
    throw malformed(`'${name}' has no location`);
  if (enc !== 'identity' && enc !== 'br' && enc !== 'deflate') {
    throw malformed(`'${name}' is encoded as ${JSON.stringify(enc)}`);
  }
  if (!isCount(from) || !isCount(stored) || !isCount(bytes) || typeof sha256 !== 'string') {
    throw malformed(`'${name}' has no size or checksum`);
  }
  if ((at === 'blob') !== (typeof blob === 'string')) throw malformed(`'${name}' has no blob`);
  const value: ManifestValue = { type, at, encoding: enc, from, stored, bytes, sha256 };
  if (typeof blob !== 'string') return value;
  return typeof address === 'string' ? { ...value, blob, address } : { ...value, blob };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw malformed('it is no JSON', cause);
  }
  if (!isRecord(parsed)) throw malformed('it is no object');
  return parsed;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function malformed(why: string, cause?: unknown): DecodeError {
  return new DecodeError(`The property ${manifestProperty} cannot be read: ${why}`, { cause });
}

/** The names of the blobs in a manifest. */
export function blobsOf(manifest: Manifest | undefined): readonly string[] {
  return Object.values(manifest?.values ?? {}).flatMap(({ blob }) =>
    blob === undefined ? [] : [blob],
  );
}
