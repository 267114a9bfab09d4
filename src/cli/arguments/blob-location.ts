import { StorageError } from '../../model/errors/storage-error.js';
import { checkContainerName } from '../../services/blobs/container-name.js';
import { UsageError } from '../terminal/failure.js';
import { blobNameLengthMax, blobNameSegmentsMax } from '../../wire/blobs/resource-path.js';

/** A container, or with a name a blob in it. */
export interface BlobLocation {
  readonly container: string;
  readonly blob: string | undefined;
}

/** A blob. */
export interface NamedBlob extends BlobLocation {
  readonly blob: string;
  /** The version of this id. Absent: the blob itself. */
  readonly versionId?: string | undefined;
}

/**
 * Reads `container` or `container/name`; a name that ends with a slash is kept as it is. Throws
 * `UsageError`.
 */
export function blobLocation(text: string): BlobLocation {
  const slash = text.indexOf('/');
  const container = containerName(slash < 0 ? text : text.slice(0, slash));
  const blob = slash < 0 ? '' : text.slice(slash + 1);
  return { container, blob: blob === '' ? undefined : blobName(blob) };
}

/** Reads `container/name`. Throws `UsageError`. */
export function namedBlob(text: string): NamedBlob {
  const { container, blob } = blobLocation(text);
  if (blob !== undefined) return { container, blob };
  throw new UsageError(`Name a blob after the container: ${container}/name.`);
}

/** The name of a container. Throws `UsageError`. */
function containerName(text: string): string {
  try {
    checkContainerName(text);
    return text;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new UsageError(
      `'${text}' is no container. A container name has 3 to 63 lower-case letters, digits and ` +
        'single dashes between them.',
    );
  }
}

/** Throws `UsageError`. */
function blobName(text: string): string {
  const problem = blobNameProblem(text);
  if (problem === undefined) return text;
  throw new UsageError(`'${text}' is no name of a blob. ${problem}`);
}

/** What is wrong with the name of a blob, and what to do; undefined for one that can be sent. */
export function blobNameProblem(text: string): string | undefined {
  if (text.includes('\\')) return 'The service takes a backslash for a slash: write a slash.';
  if (text.length <= blobNameLengthMax && text.split('/').length <= blobNameSegmentsMax) {
    return undefined;
  }
  return (
    `The name of a blob has at most ${blobNameLengthMax} characters and ` +
    `${blobNameSegmentsMax} parts between slashes.`
  );
}

/** How people write it. */
export function locationText({ container, blob }: BlobLocation): string {
  return blob === undefined ? container : `${container}/${blob}`;
}

/** The path of a URL, percent-encoded, without a leading slash. */
export function locationPath({ container, blob }: BlobLocation): string {
  return blob === undefined
    ? container
    : `${container}/${blob.split('/').map(encodeURIComponent).join('/')}`;
}
