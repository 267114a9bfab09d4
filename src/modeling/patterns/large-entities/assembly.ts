import { own, setOwn } from '../../../base/own.js';
import { DecodeError } from '../../rows/model-error.js';
import type { RowKey, RowProperties, StoredRow, WireValue } from '../../rows/row.js';
import type { TableGateway } from '../../table/gateway.js';
import { allRows } from '../../table/all-rows.js';
import type { BlobPort } from './blob-port.js';
import { expanded } from './compression.js';
import { manifestOf, manifestProperty, type Manifest, type ManifestValue } from './manifest.js';
import { joinParts, ownerProperty, partNames, partRowKey } from './parts.js';
import { checkBytes, valueOfBytes } from './value-bytes.js';

/** The stores that values are read from. */
export interface ValueSources {
  readonly table: TableGateway;
  readonly blobs: BlobPort | undefined;
}

/**
 * Rows or the blob of a value do not exist: it was replaced since the entity was read, or is lost.
 */
export class MissingValueError extends DecodeError {}

/**
 * The row with its large values, and without the properties that describe and store them. `wanted`:
 * the selected names; all when undefined. Sends at least one range read when values are in rows,
 * and one blob read for each value in a blob. Throws `MissingValueError`, and `DecodeError` when a
 * checksum differs.
 */
export async function assembled(
  sources: ValueSources,
  row: StoredRow,
  wanted: ReadonlySet<string> | undefined,
): Promise<StoredRow> {
  const manifest = manifestOf(row.properties);
  if (manifest === undefined) return row;
  const properties: Record<string, WireValue> = { ...withoutParts(row.properties) };
  const names = Object.keys(manifest.values).filter((name) => {
    // A property beside its description was merged later: it is newer, unless it is the address.
    const beside = own(properties, name)?.value;
    const isCurrent = beside === undefined || beside === own(manifest.values, name)?.address;
    return isCurrent && (wanted === undefined || wanted.has(name));
  });
  const bytes = await bytesOfPlaces(sources, row, manifest, names);
  for (const name of names) {
    const value = described(manifest, name);
    const stored = bytes(name, value);
    const plain = await expanded(value.encoding, stored, value.bytes);
    checkBytes(name, plain, value.bytes, value.sha256);
    setOwn(properties, name, valueOfBytes(value.type, plain));
  }
  return { ...row, properties };
}

/** Attempts of a read whose entity changes meanwhile. */
const attemptsMax = 24;

export interface WholeRow {
  /** As stored in the table. */
  readonly stored: StoredRow;
  readonly whole: StoredRow;
}

/**
 * One point read of a row and the requests of `assembled`; all is repeated when another write
 * replaced the row meanwhile. Undefined when the row is absent. Throws `MissingValueError` when
 * rows or blobs are missing although the row is unchanged.
 */
export async function readWhole(
  sources: ValueSources,
  key: RowKey,
  select?: { readonly stored: readonly string[]; readonly wanted: ReadonlySet<string> },
): Promise<WholeRow | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const stored = await sources.table.get(key, select?.stored);
    if (stored === undefined) return undefined;
    try {
      return { stored, whole: await assembled(sources, stored, select?.wanted) };
    } catch (error) {
      if (!(error instanceof MissingValueError) || attempt === attemptsMax) throw error;
      const now = await sources.table.get(key, []);
      if (now?.etag === stored.etag) throw error;
    }
  }
}

/** The properties without those that store large values. */
export function withoutParts(properties: RowProperties): RowProperties {
  const own: Record<string, WireValue> = { ...properties };
  for (const name of [manifestProperty, ...partNames]) delete own[name];
  return own;
}

function described({ values }: Manifest, name: string): ManifestValue {
  const value = own(values, name);
  if (value === undefined) throw new DecodeError(`'${name}' is not described`);
  return value;
}

async function bytesOfPlaces(
  { table, blobs }: ValueSources,
  row: StoredRow,
  manifest: Manifest,
  names: readonly string[],
): Promise<(name: string, value: ManifestValue) => Uint8Array> {
  const needs = (location: string) =>
    names.some((name) => described(manifest, name).at === location);
  const inEntity = joinParts(row.properties);
  const [inRows, inBlobs] = await Promise.all([
    needs('rows') ? readRows(table, row.partitionKey, manifest) : new Uint8Array(),
    Promise.all(names.map((name) => readBlob(blobs, name, described(manifest, name)))),
  ]);
  return (name, { at, from, stored }) => {
    if (at === 'blob') return inBlobs[names.indexOf(name)] ?? new Uint8Array();
    const location = at === 'rows' ? inRows : inEntity;
    return location.subarray(from, from + stored);
  };
}

async function readRows(
  table: TableGateway,
  partitionKey: string,
  { generation, rows }: Manifest,
): Promise<Uint8Array> {
  const [first, last] = [0, rows - 1].map(
    (index) => partRowKey(partitionKey, generation, index).rowKey,
  );
  const found = new Map<string, RowProperties>();
  const query = { partitionKey, rowKey: { from: first, to: last } };
  for await (const { rowKey, properties } of allRows(table, query)) found.set(rowKey, properties);
  const parts = Array.from({ length: rows }, (_, index) => {
    const properties = found.get(partRowKey(partitionKey, generation, index).rowKey);
    if (properties?.[ownerProperty] !== undefined) return joinParts(properties);
    throw new MissingValueError(`row ${index} of ${rows} beside the entity is not there`);
  });
  return Buffer.concat(parts);
}

async function readBlob(
  blobs: BlobPort | undefined,
  name: string,
  { blob }: ManifestValue,
): Promise<Uint8Array | undefined> {
  if (blob === undefined) return undefined;
  if (blobs === undefined) {
    throw new DecodeError(`'${name}' is in the blob ${blob}: pass 'blobs' to read it`);
  }
  const bytes = await blobs.get(blob);
  if (bytes === undefined)
    throw new MissingValueError(`the blob ${blob} of '${name}' is not there`);
  return bytes;
}
