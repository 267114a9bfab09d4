import { StorageError } from '../../model/errors/storage-error.js';
import { decodeOnce } from '../http/percent.js';

/** The resource in a request's path, below the account (blob-service §1.1). */
export type BlobResource =
  | { readonly kind: 'service' }
  | { readonly kind: 'container'; readonly container: string }
  | { readonly kind: 'blob'; readonly container: string; readonly blob: string };

/** The container of blobs whose URL names none. */
export const rootContainer = '$root';

// The limits of a blob's name (blob-service §5.2).

/** In UTF-16 code units. */
export const blobNameLengthMax = 1_024;
/** Parts between slashes. */
export const blobNameSegmentsMax = 254;

const service: BlobResource = { kind: 'service' };

/**
 * Parses the path as sent, after the account and without the query string. What stands behind the
 * container is the name of a blob; it is decoded once, and a backslash is a slash. A single segment
 * is a container with `restype=container`, and otherwise a blob of the root container. The name of
 * the container is not validated.
 *
 * @param namesContainer whether the query has `restype=container`
 * @throws {StorageError} `InvalidUri` for a path of another shape and for a name of a blob beyond
 * its limits
 */
export function parseBlobPath(rawPathAfterAccount: string, namesContainer: boolean): BlobResource {
  if (rawPathAfterAccount === '/' || rawPathAfterAccount === '') return service;
  if (!rawPathAfterAccount.startsWith('/')) throw new StorageError('InvalidUri');
  const end = rawPathAfterAccount.indexOf('/', 1);
  const first = decoded(rawPathAfterAccount.slice(1, end < 0 ? undefined : end));
  if (first === '' || /[/\\]/.test(first)) throw new StorageError('InvalidUri');
  const rest = end < 0 ? '' : rawPathAfterAccount.slice(end + 1);
  if (rest !== '') return blobOf(first, decoded(rest));
  if (namesContainer) return { kind: 'container', container: first };
  // A slash behind a single segment names a blob without a name.
  if (end >= 0) throw new StorageError('InvalidUri');
  return blobOf(rootContainer, first);
}

function blobOf(container: string, decodedName: string): BlobResource {
  const blob = decodedName.replaceAll('\\', '/');
  checkBlobName(container, blob);
  return { kind: 'blob', container, blob };
}

/**
 * Refuses a name that no blob of the container can have.
 *
 * @throws {StorageError} `InvalidUri`
 */
export function checkBlobName(container: string, blob: string): void {
  const isLong = blob.length > blobNameLengthMax || blob.split('/').length > blobNameSegmentsMax;
  const isNested = container === rootContainer && blob.includes('/');
  if (blob === '' || blob.includes('\\') || isLong || isNested) {
    throw new StorageError('InvalidUri');
  }
}

function decoded(raw: string): string {
  try {
    return decodeOnce(raw);
  } catch (cause) {
    throw new StorageError('InvalidUri', { cause });
  }
}
