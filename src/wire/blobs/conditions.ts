import type {
  AppendConditions,
  BlobConditions,
  EtagCondition,
  SequenceConditions,
} from '../../model/blobs/conditions.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseHttpDate } from '../http/http-date.js';
import { parseEtagText } from './etag.js';
import { countHeader, sequenceNumberHeader, type HeaderLookup } from './header-values.js';
import { parseTagCondition } from './tag-expression.js';

/**
 * The use of conditions, which determines which of them may be combined: a read, a write, or the
 * source of a copy.
 */
export type ConditionUse = 'read' | 'write' | 'source';

/** From this version on reads take several conditions and lists of etags. */
const manyConditionsVersion = '2013-08-15';
/** From this version on a read with `If-None-Match: *` is refused. */
const unsatisfiableVersion = '2016-05-31';

/**
 * The conditions in the headers of a request (blob-service §9.1). Of conditions of a write that may
 * stand together, only the one that decides is in the result (blob-service §9.3).
 *
 * @throws {StorageError} `InvalidHeaderValue` for a list of etags or a date that cannot be read,
 * and for a malformed expression of tags; `MultipleConditionHeadersNotSupported`;
 * `UnsatisfiableCondition` for a read that could find no blob that is there
 */
export function readConditions(
  header: HeaderLookup,
  use: ConditionUse,
  version: string,
): BlobConditions {
  const prefix = use === 'source' ? 'x-ms-source-' : '';
  const tagsName = use === 'source' ? 'x-ms-source-if-tags' : 'x-ms-if-tags';
  const ifTags = header(tagsName);
  const standard = standardConditions(header, prefix);
  const tags = ifTags === undefined ? {} : { ifTags: parseTagCondition(tagsName, ifTags) };
  if (use === 'source') return { ...standard, ...tags };
  if (use === 'write' || version < manyConditionsVersion) {
    return { ...decisive(standard, header), ...tags };
  }
  if (standard.ifNoneMatch === 'any' && version >= unsatisfiableVersion) {
    throw new StorageError('UnsatisfiableCondition');
  }
  return { ...standard, ...tags };
}

function standardConditions(header: HeaderLookup, prefix: string): BlobConditions {
  const ifMatch = etagsOf(header, `${prefix}if-match`);
  const ifNoneMatch = etagsOf(header, `${prefix}if-none-match`);
  const ifModifiedSinceSeconds = secondsOf(header, `${prefix}if-modified-since`);
  const ifUnmodifiedSinceSeconds = secondsOf(header, `${prefix}if-unmodified-since`);
  return {
    ...(ifMatch === undefined ? {} : { ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }),
    ...(ifModifiedSinceSeconds === undefined ? {} : { ifModifiedSinceSeconds }),
    ...(ifUnmodifiedSinceSeconds === undefined ? {} : { ifUnmodifiedSinceSeconds }),
  };
}

/** An etag takes precedence over the date that may stand beside it. */
function decisive(conditions: BlobConditions, header: HeaderLookup): BlobConditions {
  const { ifMatch, ifNoneMatch, ifModifiedSinceSeconds, ifUnmodifiedSinceSeconds } = conditions;
  for (const name of ['if-match', 'if-none-match']) {
    if (etagCount(header(name)) > 1) throw severalConditions();
  }
  const pairs = [ifMatch ?? ifUnmodifiedSinceSeconds, ifNoneMatch ?? ifModifiedSinceSeconds];
  if (pairs.every((condition) => condition !== undefined)) throw severalConditions();
  if (ifMatch !== undefined) return { ifMatch };
  return ifNoneMatch === undefined ? conditions : { ifNoneMatch };
}

function severalConditions(): StorageError {
  return new StorageError('MultipleConditionHeadersNotSupported');
}

/** An etag with its quotes or without them. */
const etagForm = /^(?:W\/)?"([^"]*)"$|^([^",\s]+)$/;

function etagCount(text: string | undefined): number {
  return text === undefined ? 0 : splitList(text).length;
}

/** The members of a list. A comma may stand inside of quotes. */
function splitList(text: string): readonly string[] {
  const members: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      members.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  members.push(text.slice(start).trim());
  return members;
}

function etagsOf(header: HeaderLookup, name: string): EtagCondition | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const members = splitList(text);
  if (members.includes('*')) {
    if (members.length > 1) throw invalidHeader(name, text);
    return 'any';
  }
  const times: number[] = [];
  for (const member of members) {
    const [, quoted, plain] = etagForm.exec(member) ?? [];
    const etag = quoted ?? plain;
    if (etag === undefined) throw invalidHeader(name, text);
    // A weak etag is none that the service gives out.
    const time = member.startsWith('W/') ? undefined : parseEtagText(etag);
    if (time !== undefined) times.push(time);
  }
  return times;
}

function secondsOf(header: HeaderLookup, name: string): number | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const time = parseHttpDate(text);
  if (time === undefined) throw invalidHeader(name, text);
  return time / 1000;
}

/** The conditions of an append (blob-service §13). @throws {StorageError} `InvalidHeaderValue` */
export function readAppendConditions(header: HeaderLookup): AppendConditions {
  const appendPosition = countHeader(header, 'x-ms-blob-condition-appendpos');
  const maxBytes = countHeader(header, 'x-ms-blob-condition-maxsize');
  return {
    ...(appendPosition === undefined ? {} : { appendPosition }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
}

/**
 * The conditions of a page write (blob-service §14). @throws {StorageError} `InvalidHeaderValue`
 */
export function readSequenceConditions(header: HeaderLookup): SequenceConditions {
  const lessOrEqual = sequenceNumberHeader(header, 'x-ms-if-sequence-number-le');
  const less = sequenceNumberHeader(header, 'x-ms-if-sequence-number-lt');
  const equal = sequenceNumberHeader(header, 'x-ms-if-sequence-number-eq');
  return {
    ...(lessOrEqual === undefined ? {} : { lessOrEqual }),
    ...(less === undefined ? {} : { less }),
    ...(equal === undefined ? {} : { equal }),
  };
}
