import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import { byLowerName, filled, parseQueryString } from '../http/query-string.js';
import type { HeaderLookup } from './header-values.js';

/** The source of a copy: the URL of a blob, a snapshot or a version (blob-service §17.1). */
export interface CopySource {
  /** As sent. */
  readonly url: string;
  readonly isHttps: boolean;
  /** In lower case, with the port if the URL has one that is not that of its scheme. */
  readonly host: string;
  /** As sent, not decoded. Begins with a slash. */
  readonly rawPath: string;
  /** As sent, without its question mark: may hold a signature. */
  readonly rawQuery: string;
  /** The texts of `snapshot` and `versionid`. */
  readonly snapshot: string | undefined;
  readonly versionId: string | undefined;
  /** Whether the URL has a signature. */
  readonly isSigned: boolean;
}

const name = 'x-ms-copy-source';

/** The longest header (blob-service §3.5), in characters. */
const copySourceLengthMax = 2_048;

const form = /^(https?):\/\/([^/?#\\@\s]+)(\/[^?#\s]*)(?:\?([^#\s]*))?$/i;

/**
 * The value of `x-ms-copy-source`.
 *
 * @throws {StorageError} `MissingRequiredHeader`; `InvalidHeaderValue` for what is no absolute URL
 * of http or https with a path, has a user, a fragment or white space, or is too long
 */
export function readCopySource(header: HeaderLookup): CopySource {
  const url = header(name);
  if (url === undefined) throw missingHeader(name);
  return parseCopySource(url);
}

/** The source that a URL names. Throws `InvalidHeaderValue` as `readCopySource`. */
export function parseCopySource(url: string): CopySource {
  const [, scheme = '', host = '', rawPath = '', rawQuery = ''] = form.exec(url) ?? [];
  if (url.length > copySourceLengthMax || host === '' || !URL.canParse(url))
    throw invalidHeader(name, url);
  return {
    url,
    isHttps: scheme.toLowerCase() === 'https',
    host: new URL(url).host,
    rawPath,
    rawQuery,
    ...ofQuery(rawQuery, url),
  };
}

function ofQuery(
  rawQuery: string,
  url: string,
): Pick<CopySource, 'snapshot' | 'versionId' | 'isSigned'> {
  try {
    const options = byLowerName(parseQueryString(rawQuery));
    const versionId = filled(options, 'versionid');
    return { snapshot: filled(options, 'snapshot'), versionId, isSigned: options.has('sig') };
  } catch {
    throw invalidHeader(name, url);
  }
}
