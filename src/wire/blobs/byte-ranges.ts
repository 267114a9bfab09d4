import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { HeaderLookup } from './header-values.js';

/** Bytes that a request asks for or writes, both ends included; no end means the last byte. */
export interface RequestedRange {
  readonly first: number;
  readonly last: number | undefined;
}

/** Bytes that a request asks for or writes, both ends included. */
export interface ClosedRange extends RequestedRange {
  readonly last: number;
}

/** Pages begin and end at multiples of this (blob-service §14). */
export const pageBytes = 512;

/** `bytes=a-b` and `bytes=a-`. More digits than a safe integer has mean its largest. */
const form = /^bytes=(\d+)-(\d*)$/i;

/** A range; undefined for any other text, such as a suffix, several ranges or another unit. */
export function parseRange(text: string): RequestedRange | undefined {
  const [, first = '', last = ''] = form.exec(text.trim()) ?? [];
  if (first === '') return undefined;
  const range = { first: offsetOf(first), last: last === '' ? undefined : offsetOf(last) };
  return range.last !== undefined && range.last < range.first ? undefined : range;
}

function offsetOf(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

/** The range header that counts: `x-ms-range` before `Range` (blob-service §11.2). */
function rangeHeader(header: HeaderLookup): readonly [name: string, text: string] | undefined {
  for (const name of ['x-ms-range', 'range']) {
    const text = header(name);
    if (text !== undefined) return [name, text];
  }
  return undefined;
}

/**
 * The range of a read; undefined when the request has none or one that cannot be read, which both
 * mean everything (blob-service §11.2).
 */
export function readRange(header: HeaderLookup): RequestedRange | undefined {
  const found = rangeHeader(header);
  return found === undefined ? undefined : parseRange(found[1]);
}

/**
 * The pages of a page write (blob-service §14).
 *
 * @throws {StorageError} `MissingRequiredHeader`; `InvalidHeaderValue` for what is no range with
 * two ends; `InvalidPageRange` when an end is none of a page
 */
export function pageRange(header: HeaderLookup): ClosedRange {
  const found = rangeHeader(header);
  if (found === undefined) throw missingHeader('x-ms-range');
  const range = closedRange(...found);
  if (range.first % pageBytes !== 0 || (range.last + 1) % pageBytes !== 0) {
    throw new StorageError('InvalidPageRange');
  }
  return range;
}

/**
 * The part of the source that a write from a URL takes, in `x-ms-source-range`; undefined for all
 * of it (blob-service §12.3).
 *
 * @throws {StorageError} `InvalidHeaderValue`
 */
export function sourceRange(header: HeaderLookup): RequestedRange | undefined {
  const name = 'x-ms-source-range';
  const text = header(name);
  if (text === undefined) return undefined;
  const range = parseRange(text);
  if (range === undefined) throw invalidHeader(name, text);
  return range;
}

function closedRange(name: string, text: string): ClosedRange {
  const range = parseRange(text);
  if (range?.last === undefined) throw invalidHeader(name, text);
  return { first: range.first, last: range.last };
}

/** `bytes a-b/LENGTH`, the value of `Content-Range`. */
export function contentRange({ first, last }: ClosedRange, lengthBytes: number): string {
  return `bytes ${first}-${last}/${lengthBytes}`;
}
