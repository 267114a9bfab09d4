import { forbiddenKeyCharacterAt } from '../../model/edm/key.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { decodeOnce, querySyntaxError, wellFormed } from '../http/percent.js';
import { closingQuote, unquoted } from './quoted-text.js';

/** The resource in a request's path, below the account (table-service §1.2). */
export type Resource =
  | { readonly kind: 'service' }
  | { readonly kind: 'tables' }
  | { readonly kind: 'table-entry'; readonly name: string }
  | { readonly kind: 'entities'; readonly table: string }
  | {
      readonly kind: 'entity';
      readonly table: string;
      readonly partitionKey: string;
      readonly rowKey: string;
    }
  | { readonly kind: 'batch' };

const service: Resource = { kind: 'service' };
const tables: Resource = { kind: 'tables' };
const batch: Resource = { kind: 'batch' };

/**
 * Parses the path as sent, after the account and without the query string. Percent encoding is
 * decoded exactly once, before the quotes are parsed. Table names are not validated.
 *
 * Empty segments are ignored everywhere: `/Tables/` and `//Tables` are `/Tables`.
 *
 * Throws `InvalidInput` (`Bad Request - Error in query syntax.`) for a path of another shape, bad
 * percent encoding or UTF-8, and a `/` or `\` in a key; `OutOfRangeInput` for the other characters
 * that no key may hold (table-service §1.3 and §2.3).
 */
export function parseResourcePath(rawPathAfterAccount: string): Resource {
  return resourceOfSegments(pathSegments(rawPathAfterAccount));
}

/** As `parseResourcePath`, for a path that was split. */
export function resourceOfSegments(segments: readonly string[]): Resource {
  if (segments.length > 1) throw querySyntaxError();
  return resourceOfSegment(segments[0] ?? '');
}

/** The segments of a path as sent, without the empty ones. */
export function pathSegments(path: string): readonly string[] {
  // A fast path for the common single segment.
  if (path.lastIndexOf('/') === 0 && path.length > 1) return [path.slice(1)];
  return path.split('/').filter((segment) => segment !== '');
}

function resourceOfSegment(raw: string): Resource {
  const path = decodeOnce(raw);
  const open = path.indexOf('(');
  if (open < 0) return resourceOfName(path);
  if (path.charCodeAt(path.length - 1) !== 0x29 || open === 0) throw querySyntaxError();
  const name = path.slice(0, open);
  const scanner: Scanner = { path, at: open + 1, end: path.length - 1 };
  skipSpaces(scanner);
  if (scanner.at === scanner.end) return resourceOfName(name);
  return isTablesName(name) ? tableEntry(scanner) : entity(name, scanner);
}

function isTablesName(name: string): boolean {
  return name === 'Tables' || (name.length === 6 && name.toLowerCase() === 'tables');
}

function resourceOfName(name: string): Resource {
  if (name === '') return service;
  if (name === '$batch') return batch;
  return isTablesName(name) ? tables : { kind: 'entities', table: name };
}

/** A position between a path's first `(` and its final `)`. */
interface Scanner {
  readonly path: string;
  at: number;
  readonly end: number;
}

function skipSpaces(scanner: Scanner): void {
  while (scanner.at < scanner.end && scanner.path.charCodeAt(scanner.at) === 0x20) scanner.at++;
}

/** Skips one expected character and spaces around it. */
function expect(scanner: Scanner, code: number): void {
  skipSpaces(scanner);
  if (scanner.at >= scanner.end || scanner.path.charCodeAt(scanner.at) !== code) {
    throw querySyntaxError();
  }
  scanner.at++;
  skipSpaces(scanner);
}

function expectEnd(scanner: Scanner): void {
  skipSpaces(scanner);
  if (scanner.at !== scanner.end) throw querySyntaxError();
}

function quotedText(scanner: Scanner): string {
  const { path, at } = scanner;
  const close = path.charCodeAt(at) === 0x27 ? closingQuote(path, at) : -1;
  if (close < 0) throw querySyntaxError();
  scanner.at = close + 1;
  return unquoted(path, at, close);
}

function tableEntry(scanner: Scanner): Resource {
  const name = quotedText(scanner);
  expectEnd(scanner);
  return { kind: 'table-entry', name };
}

type KeyName = 'PartitionKey' | 'RowKey';

function keyName(scanner: Scanner): KeyName {
  for (const name of ['PartitionKey', 'RowKey'] as const) {
    if (scanner.path.startsWith(name, scanner.at)) {
      scanner.at += name.length;
      return name;
    }
  }
  throw querySyntaxError();
}

function keyPredicate(scanner: Scanner): { name: KeyName; value: string } {
  const name = keyName(scanner);
  expect(scanner, 0x3d);
  return { name, value: legalKey(quotedText(scanner)) };
}

function legalKey(key: string): string {
  const at = forbiddenKeyCharacterAt(key);
  if (at < 0) return key;
  const character = key.charAt(at);
  if (character === '/' || character === '\\') throw querySyntaxError();
  throw new StorageError('OutOfRangeInput');
}

function entity(table: string, scanner: Scanner): Resource {
  const first = keyPredicate(scanner);
  expect(scanner, 0x2c);
  const second = keyPredicate(scanner);
  expectEnd(scanner);
  if (first.name === second.name) throw querySyntaxError();
  return first.name === 'PartitionKey'
    ? { kind: 'entity', table, partitionKey: first.value, rowKey: second.value }
    : { kind: 'entity', table, partitionKey: second.value, rowKey: first.value };
}

/**
 * `table(PartitionKey='…',RowKey='…')` as `Location`, `odata.id` and `odata.editLink` write it:
 * keys percent-encoded, quotes doubled and raw (table-service §1.3). A lone surrogate has no
 * percent encoding; it is written as U+FFFD.
 */
export function entityPath(table: string, partitionKey: string, rowKey: string): string {
  return `${table}(PartitionKey='${encodeKey(partitionKey)}',RowKey='${encodeKey(rowKey)}')`;
}

/** Characters that need no encoding in a path; most keys have only these. */
const unreserved = /^[A-Za-z0-9\-_.!~*()]*$/;

function encodeKey(key: string): string {
  if (unreserved.test(key)) return key;
  return encodeURIComponent(wellFormed(key)).replaceAll("'", "''");
}
