import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobPlace, NamedBlob } from '../arguments/blob-place.js';
import type { BlobClient, BlobListing } from '../client/blob-client.js';
import { listPages } from '../client/blob-pages.js';
import { codeOf, CommandFailure, messageOf } from '../terminal/failure.js';

/** A blob and the file that it becomes. */
export interface PlannedDownload {
  readonly blob: NamedBlob;
  readonly bytes: number;
  /** Base64; undefined when none is kept with the blob. */
  readonly md5: string | undefined;
  /** Undefined: its name is none for a file below a directory. */
  readonly path: string | undefined;
}

/** The blobs that begin with a place, as files below a directory. */
export async function* plannedDownloads(
  client: BlobClient,
  { container, blob: prefix = '' }: BlobPlace,
  directory: string,
): AsyncGenerator<PlannedDownload> {
  for await (const items of listPages(client, container, { prefix, delimiter: undefined })) {
    for (const item of items) {
      if (item.kind === 'blob') yield plannedDownload(item, { container, prefix, directory });
    }
  }
}

function plannedDownload(
  { name, bytes, md5 }: BlobListing,
  from: { readonly container: string; readonly prefix: string; readonly directory: string },
): PlannedDownload {
  const { container, prefix, directory } = from;
  const relative = name.slice(prefix.length);
  const path = isFilePath(relative) ? join(directory, ...relative.split('/')) : undefined;
  return { blob: { container, blob: name }, bytes, md5, path };
}

/** Segments of paths that have another meaning on some system. */
const noFileName = /^\.{0,2}$|[\0\\:]/;

/** Whether a name leads to a file below the directory, and nowhere else. */
function isFilePath(name: string): boolean {
  return name.split('/').every((segment) => !noFileName.test(segment));
}

/** Whether a file has the bytes of a blob already, by their number and MD5. */
export async function hasBytesOf({ path = '', bytes, md5 }: PlannedDownload): Promise<boolean> {
  if (md5 === undefined) return false;
  try {
    const facts = await stat(path);
    if (!facts.isFile() || facts.size !== bytes) return false;
    const hash = createHash('md5');
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    return hash.digest('base64') === md5;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw new CommandFailure(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Makes the directories above a file. */
export async function makeParents(path: string): Promise<void> {
  const directory = dirname(path);
  try {
    await mkdir(directory, { recursive: true });
  } catch (error) {
    throw new CommandFailure(`${directory} cannot be made: ${messageOf(error)}`, { cause: error });
  }
}
