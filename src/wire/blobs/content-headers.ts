import { contentTypeDefault, type ContentHeaders } from '../../model/blobs/properties.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import type { SasResponseHeaders } from '../auth/sas/fields.js';
import { parseMd5 } from '../checksum/checksum-headers.js';
import type { HeaderLookup } from './header-values.js';

/** The properties of a blob that are headers, but the checksum. */
const texts = [
  ['contentType', 'x-ms-blob-content-type', 'content-type'],
  ['contentEncoding', 'x-ms-blob-content-encoding', 'content-encoding'],
  ['contentLanguage', 'x-ms-blob-content-language', 'content-language'],
  ['cacheControl', 'x-ms-blob-cache-control', 'cache-control'],
  ['contentDisposition', 'x-ms-blob-content-disposition', undefined],
] as const;

const md5Name = 'x-ms-blob-content-md5';

/**
 * The properties that Put Blob gives a block blob: those of the headers for blobs, or else of the
 * headers of the request (blob-service §5.4). The checksum is that of `x-ms-blob-content-md5`.
 *
 * @throws {StorageError} `InvalidMd5`
 */
export function contentHeadersOfBody(header: HeaderLookup): ContentHeaders {
  return headersOf(header, (own, plain) => own ?? (plain === undefined ? plain : header(plain)));
}

/**
 * The properties that every other operation sets: those of the headers for blobs alone, the type
 * by default `application/octet-stream`.
 *
 * @throws {StorageError} `InvalidMd5`
 */
export function contentHeadersOfBlob(header: HeaderLookup): ContentHeaders {
  return headersOf(header, (own) => own);
}

/**
 * The properties that Set Blob Properties sets, all of them; undefined when the request names none,
 * and they stay (blob-service §15.1).
 *
 * @throws {StorageError} `InvalidMd5`
 */
export function changedContentHeaders(header: HeaderLookup): ContentHeaders | undefined {
  const names = [...texts.map(([, own]) => own), md5Name];
  return names.some((name) => header(name) !== undefined)
    ? contentHeadersOfBlob(header)
    : undefined;
}

function headersOf(
  header: HeaderLookup,
  chosen: (own: string | undefined, plainName: string | undefined) => string | undefined,
): ContentHeaders {
  const found: { -readonly [Name in keyof ContentHeaders]: ContentHeaders[Name] } = {
    contentType: contentTypeDefault,
  };
  for (const [member, own, plain] of texts) {
    const value = chosen(header(own), plain);
    if (value !== undefined && value !== '') found[member] = value;
  }
  const md5 = header(md5Name);
  if (md5 !== undefined && md5 !== '') found.contentMd5 = parseMd5(md5);
  return found;
}

/** The header of an answer and the field of a signature that replaces it. */
const answered = [
  ['contentType', 'Content-Type', 'rsct'],
  ['contentEncoding', 'Content-Encoding', 'rsce'],
  ['contentLanguage', 'Content-Language', 'rscl'],
  ['cacheControl', 'Cache-Control', 'rscc'],
  ['contentDisposition', 'Content-Disposition', 'rscd'],
] as const;

/** The characters of a header value. */
const headerText = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Adds to an answer to Get Blob or Get Blob Properties the headers that are properties of the blob,
 * without its checksum: name, value, name, value, … (blob-service §11.1). `replaced`: those of a
 * signature.
 *
 * @throws {StorageError} `InvalidQueryParameterValue` when a signature has a text that no header
 * can have
 */
export function addContentHeaders(
  lines: string[],
  headers: ContentHeaders,
  replaced: SasResponseHeaders,
): void {
  for (const [member, name, field] of answered) {
    const other = replaced[member];
    if (other !== undefined && !headerText.test(other)) {
      throw invalidQueryParameter(field, other, 'A header cannot have it.');
    }
    const value = other ?? headers[member];
    if (value !== undefined) lines.push(name, value);
  }
}
