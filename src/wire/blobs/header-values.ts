import { invalidHeader } from '../../model/errors/query-errors.js';

/** The value of a header by its name in lower case; undefined when it is absent. */
export type HeaderLookup = (name: string) => string | undefined;

/** 2^63 - 1, the largest sequence number of a page blob (blob-service §14). */
export const sequenceNumberMax = 9_223_372_036_854_775_807n;

const digits = /^[0-9]{1,19}$/;

/**
 * A header that is a count of bytes or of something else, 0 to 2^53 - 1; undefined when absent.
 *
 * @throws {StorageError} `InvalidHeaderValue`
 */
export function countHeader(header: HeaderLookup, name: string): number | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const value = digits.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw invalidHeader(name, text);
  return value;
}

/**
 * A header that is a sequence number, 0 to `sequenceNumberMax`; undefined when absent.
 *
 * @throws {StorageError} `InvalidHeaderValue`
 */
export function sequenceNumberHeader(header: HeaderLookup, name: string): bigint | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  if (!digits.test(text) || BigInt(text) > sequenceNumberMax) throw invalidHeader(name, text);
  return BigInt(text);
}

/**
 * A header that is `true` or `false` in any case; undefined when absent.
 *
 * @throws {StorageError} `InvalidHeaderValue`
 */
export function booleanHeader(header: HeaderLookup, name: string): boolean | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const lower = text.toLowerCase();
  if (lower !== 'true' && lower !== 'false') throw invalidHeader(name, text);
  return lower === 'true';
}
