import { StorageError } from '../../model/errors/storage-error.js';
import { blobNameLengthMax } from './resource-path.js';

/** The place of the first item of a page of blobs. */
export interface MarkedBlob {
  readonly name: string;
  /** Skips snapshots of this blob before this time, in microseconds, but not the blob itself. */
  readonly fromMicros?: number;
}

const form = /^1!(\d{1,16})!([A-Za-z0-9_-]*)$/;
/** Stands for the first snapshot. */
const fromStart = 0;
/** A page that begins after a blob begins with its name and this character. */
const afterName = '\0';

/** The marker of a page of blobs. Names of any characters, and no larger than an escaped name. */
export function formatBlobMarker({ name, fromMicros = fromStart }: MarkedBlob): string {
  return `1!${fromMicros}!${encoded(name)}`;
}

/**
 * The place that a marker stands for; undefined for none.
 *
 * @throws {StorageError} `InvalidMarker` for anything that `formatBlobMarker` does not make
 */
export function parseBlobMarker(text: string | undefined): MarkedBlob | undefined {
  if (text === undefined || text === '') return undefined;
  const [, micros = '', encodedName = ''] = form.exec(text) ?? [];
  const name = decoded(encodedName);
  const fromMicros = Number(micros);
  const place = fromMicros === fromStart ? { name } : { name, fromMicros };
  const isSafe = Number.isSafeInteger(fromMicros) && name !== '' && isPossible(name);
  if (!isSafe || formatBlobMarker(place) !== text) throw new StorageError('InvalidMarker');
  return place;
}

/** Whether a page may begin with this name. A longer one makes a key that no store takes. */
function isPossible(name: string): boolean {
  const suffix = name.endsWith(afterName) ? 1 : 0;
  return name.length <= blobNameLengthMax + suffix;
}

/** The place of the first result of a page of found blobs. */
export interface MarkedResult {
  readonly container: string;
  readonly value: string;
  readonly name: string;
  /** Skips versions of this blob before this id, but not the blob itself. */
  readonly fromMicros?: number;
}

const resultForm = /^2!([\w-]*)!([\w-]*)!([\w-]*)(?:!(\d{1,16}))?$/;

/** The marker of a page of found blobs. */
export function formatFindMarker({ container, value, name, fromMicros }: MarkedResult): string {
  const place = `2!${[container, value, name].map(encoded).join('!')}`;
  return fromMicros === undefined ? place : `${place}!${fromMicros}`;
}

/** The place that such a marker stands for; undefined for none. Throws `InvalidMarker`. */
export function parseFindMarker(text: string | undefined): MarkedResult | undefined {
  if (text === undefined || text === '') return undefined;
  const [, ...parts] = resultForm.exec(text) ?? [];
  const [container = '', value = '', name = ''] = parts.slice(0, 3).map(decoded);
  const fromMicros = parts[3] === undefined ? undefined : Number(parts[3]);
  const place = { container, value, name, ...(fromMicros !== undefined && { fromMicros }) };
  const isSafe = Number.isSafeInteger(fromMicros ?? 0) && isPossible(name);
  if (!isSafe || formatFindMarker(place) !== text) throw new StorageError('InvalidMarker');
  return place;
}

/** Keeps every code unit, including lone surrogates. */
function encoded(text: string): string {
  return Buffer.from(text, 'utf16le').toString('base64url');
}

function decoded(text: string): string {
  return Buffer.from(text, 'base64url').toString('utf16le');
}
