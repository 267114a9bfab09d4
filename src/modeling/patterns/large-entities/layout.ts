import { own } from '../../../base/own.js';
import { rowBytes, valueBytes } from '../../rows/row-size.js';
import { TooLargeError } from '../../rows/model-error.js';
import type { Row, RowProperties, WireValue } from '../../rows/row.js';
import { operationBytes } from '../../table/request-size.js';
import type { BlobDetails } from './blob-port.js';
import { compressed, type ValueEncoding } from './compression.js';
import {
  manifestProperty,
  renderManifest,
  type ManifestValue,
  type ValueLocation,
} from './manifest.js';
import type { LargeLimits } from './options.js';
import { partRowCount, partRows, partsCost, partsRequestBytes, splitIntoParts } from './parts.js';
import { bytesOfValue, checksumOf, isLargeType, type LargeType } from './value-bytes.js';

// Decides where each value of an entity is stored, in this order: inline while it fits; in parts of
// the entity; compressed when the parts do not fit; in rows of their own; in blobs. The largest
// values move on first.

export interface PlannedBlob {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly details: BlobDetails;
}

/** How an entity is stored. */
export interface Layout {
  readonly head: Row;
  /** Part rows, written in the transaction that writes the head. */
  readonly rows: readonly Row[];
  /** Blobs to put before. */
  readonly blobs: readonly PlannedBlob[];
}

/** A value that is stored outside of its property. */
interface Candidate {
  readonly name: string;
  readonly type: LargeType;
  readonly plain: Uint8Array;
  stored: Uint8Array;
  encoding: ValueEncoding;
  at: ValueLocation;
  readonly hasLocation: boolean;
}

export interface LayoutRequest {
  readonly table: string;
  readonly row: Row;
  readonly limits: LargeLimits;
  /** 32 hexadecimal digits, unique to the write. */
  readonly generation: string;
  /** The bytes of a transaction that the head and its part rows may take. */
  readonly requestBytesMax: number;
}

/** An upper bound of the bytes that a row takes in a transaction. */
export function requestBytes(row: Row): number {
  return operationBytes({ kind: 'insert', row });
}

/** The maximum bytes of a value's description in the manifest, besides its names. */
const descriptionBytes = 2 * 320;

/** Throws `TooLargeError` when the values fit nowhere. */
export async function layoutOf(request: LayoutRequest): Promise<Layout> {
  const { row, limits } = request;
  const { rest, candidates } = separate(row, limits);
  if (candidates.length === 0) return { head: row, rows: [], blobs: [] };
  const plan = new Plan(request, rest, candidates);
  if (limits.compressAlways) await plan.compressAll();
  if (!plan.fitsEntity()) await plan.compressUntilItFits();
  if (!plan.fitsEntity() && limits.useRows)
    plan.moveUntil('entity', 'rows', () => plan.fitsEntity());
  if (!plan.fits() && limits.useBlobs) {
    plan.moveUntil('rows', 'blob', () => plan.fits());
    plan.moveUntil('entity', 'blob', () => plan.fits());
  }
  if (!plan.fits()) throw refusal(request, plan.largest());
  return plan.layout();
}

/**
 * Separates the properties that leave the entity: those beyond the inline limits or with a fixed
 * location, then the largest others until the rest fits.
 */
function separate({ properties, ...key }: Row, limits: LargeLimits) {
  const rest: Record<string, WireValue> = { ...properties };
  const candidates: Candidate[] = [];
  const take = (name: string): void => {
    const value = rest[name];
    if (value === undefined || !isLargeType(value)) return;
    const plain = bytesOfValue(value);
    const hasLocation = own(limits.locations, name) !== undefined;
    delete rest[name];
    candidates.push({
      name,
      type: value.type,
      plain,
      stored: plain,
      encoding: 'identity',
      at: hasLocation ? 'blob' : 'entity',
      hasLocation,
    });
  };
  const eligible = Object.keys(properties).filter((name) => isEligible(name, limits));
  for (const name of eligible) {
    if (isPastInline(name, properties[name], limits)) take(name);
  }
  const bySize = eligible.toSorted(
    (left, right) => sizeOf(properties, right) - sizeOf(properties, left),
  );
  for (const name of bySize) {
    if (rowBytes({ ...key, properties: rest }) <= limits.entityBytesMax) break;
    take(name);
  }
  return { rest: { ...key, properties: rest }, candidates };
}

function isEligible(name: string, { candidates, locations }: LargeLimits): boolean {
  return candidates === undefined || candidates.has(name) || own(locations, name) !== undefined;
}

function isPastInline(name: string, value: WireValue | undefined, limits: LargeLimits): boolean {
  if (value === undefined || !isLargeType(value)) return false;
  if (own(limits.locations, name) !== undefined) return true;
  const { stringUnitsInline, binaryBytesInline } = limits;
  return value.value.length > (value.type === 'String' ? stringUnitsInline : binaryBytesInline);
}

function sizeOf(properties: RowProperties, name: string): number {
  const value = properties[name];
  return value === undefined ? 0 : valueBytes(value);
}

/** Whether a row has values that must be stored outside of their properties. */
export function isLargeRow(row: Row, limits: LargeLimits): boolean {
  const names = Object.keys(row.properties).filter((name) => isEligible(name, limits));
  if (names.some((name) => isPastInline(name, row.properties[name], limits))) return true;
  return names.length > 0 && rowBytes(row) > limits.entityBytesMax;
}

class Plan {
  readonly #request: LayoutRequest;
  readonly #rest: Row;
  readonly #candidates: readonly Candidate[];

  constructor(request: LayoutRequest, rest: Row, candidates: readonly Candidate[]) {
    this.#request = request;
    this.#rest = rest;
    this.#candidates = candidates;
  }

  /** Whether the entity with its parts is within its limit. */
  fitsEntity(): boolean {
    const names = this.#candidates.reduce((sum, { name }) => sum + 2 * name.length, 0);
    const described = 4 * names + descriptionBytes * (1 + this.#candidates.length);
    const bytes = rowBytes(this.#rest) + described + partsCost(this.#bytesAt('entity'));
    return bytes <= this.#request.limits.entityBytesMax;
  }

  /** Whether the entity is within its limit, and fits into a transaction with its part rows. */
  fits(): boolean {
    const [inEntity, inRows] = [this.#bytesAt('entity'), this.#bytesAt('rows')];
    const described = descriptionBytes * (1 + this.#candidates.length);
    const rows = partRowCount(inRows) * requestBytes({ ...this.#rest, properties: {} });
    const bytes =
      requestBytes(this.#rest) +
      described +
      rows +
      partsRequestBytes(inEntity) +
      partsRequestBytes(inRows);
    return this.fitsEntity() && bytes <= this.#request.requestBytesMax;
  }

  async compressAll(): Promise<void> {
    for (const candidate of this.#candidates) await this.#compress(candidate);
  }

  async compressUntilItFits(): Promise<void> {
    for (const candidate of this.#bySize()) {
      if (this.fitsEntity()) return;
      await this.#compress(candidate);
    }
  }

  /** Moves the largest values to the next location until `isDone`. */
  moveUntil(from: ValueLocation, to: ValueLocation, isDone: () => boolean): void {
    for (const candidate of this.#bySize()) {
      if (isDone()) return;
      if (candidate.at === from) candidate.at = to;
    }
  }

  largest(): string {
    const largest = this.#bySize().find(({ at }) => at !== 'blob');
    return largest === undefined ? 'it' : `'${largest.name}' of ${largest.stored.length} bytes`;
  }

  layout(): Layout {
    const { generation } = this.#request;
    const values = Object.fromEntries(
      (['entity', 'rows', 'blob'] as const).flatMap((location) => this.#described(location)),
    );
    const rows = partRows(this.#rest, generation, this.#joined('rows'));
    const manifest = renderManifest({ generation, rows: rows.length, values });
    const properties: RowProperties = {
      ...this.#rest.properties,
      ...this.#addresses(),
      [manifestProperty]: { type: 'String', value: manifest },
      ...splitIntoParts(this.#joined('entity')),
    };
    return { head: { ...this.#rest, properties }, rows, blobs: this.#blobs() };
  }

  async #compress(candidate: Candidate): Promise<void> {
    const { compression } = this.#request.limits;
    // Values with a fixed location stay uncompressed, for readers of the blob itself.
    if (candidate.hasLocation || candidate.encoding !== 'identity' || compression === 'identity')
      return;
    const smaller = await compressed(compression, candidate.plain);
    if (smaller === undefined) return;
    candidate.stored = smaller;
    candidate.encoding = compression;
  }

  #bySize(): readonly Candidate[] {
    return this.#candidates.toSorted((left, right) => right.stored.length - left.stored.length);
  }

  #at(location: ValueLocation): readonly Candidate[] {
    return this.#candidates.filter(({ at }) => at === location);
  }

  #bytesAt(location: ValueLocation): number {
    return this.#at(location).reduce((sum, { stored }) => sum + stored.length, 0);
  }

  #joined(location: ValueLocation): Uint8Array {
    return Buffer.concat(this.#at(location).map(({ stored }) => stored));
  }

  #described(location: ValueLocation): readonly (readonly [string, ManifestValue])[] {
    let from = 0;
    return this.#at(location).map((candidate) => {
      const { name, type, encoding, stored, plain } = candidate;
      const value: ManifestValue = {
        type,
        at: location,
        encoding,
        from: location === 'blob' ? 0 : from,
        stored: stored.length,
        bytes: plain.length,
        sha256: checksumOf(plain),
        ...(location === 'blob' ? { blob: this.#blobName(candidate) } : {}),
        ...addressIn(location === 'blob' ? this.#addressOf(candidate) : undefined),
      };
      from += stored.length;
      return [name, value] as const;
    });
  }

  /** The properties that tell other programs where their values are. */
  #addresses(): RowProperties {
    return Object.fromEntries(
      this.#at('blob').flatMap((candidate) => {
        const address = this.#addressOf(candidate);
        return address === undefined
          ? []
          : [[candidate.name, { type: 'String' as const, value: address }]];
      }),
    );
  }

  #addressOf(candidate: Candidate): string | undefined {
    const { locations, addressOf } = this.#request.limits;
    if (own(locations, candidate.name)?.address !== true) return undefined;
    return addressOf?.(this.#blobName(candidate));
  }

  #blobName({ name }: Candidate): string {
    const { limits, table, generation } = this.#request;
    return `${blobFolder(limits, table)}${generation}/${name}`;
  }

  #blobs(): readonly PlannedBlob[] {
    const { partitionKey, rowKey } = this.#rest;
    return this.#at('blob').map((candidate) => {
      const contentType = own(this.#request.limits.locations, candidate.name)?.contentType;
      const details: BlobDetails = {
        metadata: { [ownerMetadata]: encodeOwner(partitionKey, rowKey) },
        ...(contentType === undefined ? {} : { contentType }),
      };
      return { name: this.#blobName(candidate), bytes: candidate.stored, details };
    });
  }
}

function addressIn(address: string | undefined): Pick<ManifestValue, 'address'> {
  return address === undefined ? {} : { address };
}

/** The prefix of the names of a table's blobs. Table names are case-insensitive. */
export function blobFolder({ blobPrefix }: LargeLimits, table: string): string {
  return `${blobPrefix}${table.toLowerCase()}/`;
}

/** Metadata of a blob: the keys of its entity, as JSON in base64. */
export const ownerMetadata = 'tabularium_row';

function encodeOwner(partitionKey: string, rowKey: string): string {
  return Buffer.from(JSON.stringify([partitionKey, rowKey])).toString('base64');
}

function refusal({ row, limits, table }: LayoutRequest, what: string): TooLargeError {
  const advice = limits.useBlobs
    ? 'its other properties alone are too large'
    : "pass 'blobs', and what does not fit into rows goes there";
  const { partitionKey, rowKey } = row;
  return new TooLargeError(
    `${what} does not fit into ('${partitionKey}', '${rowKey}') of ${table}: ${advice}`,
  );
}
