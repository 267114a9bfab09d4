import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { locationText, type BlobLocation, type NamedBlob } from '../arguments/blob-location.js';
import type { BlobClient, BlobListing } from '../client/blob-client.js';
import { listPages } from '../client/blob-pages.js';
import { codeOf, CommandFailure, messageOf } from '../terminal/failure.js';

export type PlannedDownload = PlannedFile | LeftOut;

/** A blob and the file that it becomes. */
export interface PlannedFile {
  readonly kind: 'file';
  readonly blob: NamedBlob;
  readonly bytes: number;
  /** Base64; undefined when none is kept with the blob. */
  readonly md5: string | undefined;
  readonly path: string;
}

/** A blob that cannot be a file beside the others. */
export interface LeftOut {
  readonly kind: 'left-out';
  readonly blob: NamedBlob;
  /** A text that follows the name and a comma. */
  readonly reason: string;
}

/** The blobs that begin with a place, as files below a directory. */
export async function* plannedDownloads(
  client: BlobClient,
  { container, blob: prefix = '' }: BlobLocation,
  directory: string,
): AsyncGenerator<PlannedDownload> {
  const files = new FileNames();
  for await (const items of listPages(client, container, { prefix, delimiter: undefined })) {
    for (const item of items) {
      if (item.kind === 'blob')
        yield plannedDownload(item, { container, prefix, directory, files });
    }
  }
}

function plannedDownload(
  { name, bytes, md5 }: BlobListing,
  from: {
    readonly container: string;
    readonly prefix: string;
    readonly directory: string;
    readonly files: FileNames;
  },
): PlannedDownload {
  const { container, prefix, directory, files } = from;
  const blob = { container, blob: name };
  const relative = name.slice(prefix.length);
  if (!isFilePath(relative)) {
    return { kind: 'left-out', blob, reason: 'whose name is none for a file' };
  }
  const above = files.folderOf(name);
  if (above !== undefined) {
    const file = locationText({ container, blob: above });
    return { kind: 'left-out', blob, reason: `whose folder is the file of ${file}` };
  }
  files.add(name);
  return { kind: 'file', blob, bytes, md5, path: join(directory, ...relative.split('/')) };
}

/**
 * The names of files, added in order. A blob may have a name that is a folder in the name of a
 * later blob; a file may not.
 */
class FileNames {
  /** The names that the next name may extend, each a prefix of the one after it. */
  readonly #open: string[] = [];

  add(name: string): void {
    this.#open.push(name);
  }

  /** The file that would have to be a folder of this name. */
  folderOf(name: string): string | undefined {
    while (this.#open.length > 0 && !name.startsWith(this.#open.at(-1) ?? '')) this.#open.pop();
    return this.#open.find((each) => name.startsWith(`${each}/`));
  }
}

/** Segments of paths that have another meaning on some system. */
const noFileName = /^\.{0,2}$|[\0\\:]/;

/** Whether a name leads to a file below the directory, and nowhere else. */
function isFilePath(name: string): boolean {
  return name.split('/').every((segment) => !noFileName.test(segment));
}

/** Whether a file has the bytes of a blob already, by their number and MD5. */
export async function hasBytesOf({ path, bytes, md5 }: PlannedFile): Promise<boolean> {
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
