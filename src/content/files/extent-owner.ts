import type { Bytes } from '../../base/bytes.js';
import { codeOf } from '../../base/thrown.js';
import type { ContentFiles, StoredFile } from './content-files.js';
import { decodeFoot, decodeHead, footBytes, longestHeadBytes, isOf } from './extent-format.js';
import { fileOf, ownerFileOf, type ExtentPlace } from './extent-place.js';

/**
 * The owner of an extent, or why it is not known. `absent`: there is no such file. `unwritten`: it
 * has neither a head nor a foot, as after a crash; nobody can read such a file. `damaged`: it has
 * one of the two, or a file beside it with the owner that it should not have lost.
 */
export type FoundOwner =
  | { readonly kind: 'known'; readonly owner: Bytes }
  | { readonly kind: 'absent' | 'unwritten' | 'damaged' };

export async function ownerOf(files: ContentFiles, place: ExtentPlace): Promise<FoundOwner> {
  if (!place.isLink) return withFile(files, fileOf(place), (file) => ownerIn(file, place));
  const found = await withFile(files, ownerFileOf(place), (file) => ownerIn(file, place));
  if (found.kind === 'known' || !files.isThere(fileOf(place))) return found;
  // The owner of a link is durable before the link is made.
  return { kind: 'damaged' };
}

async function ownerIn(file: StoredFile, place: ExtentPlace): Promise<FoundOwner> {
  const head = decodeHead(await file.read(0, longestHeadBytes));
  if (head !== undefined && isOf(head, place)) return { kind: 'known', owner: head.owner };
  const foot = decodeFoot(await file.read(Math.max(0, file.bytes - footBytes), footBytes));
  return { kind: head === undefined && foot === undefined ? 'unwritten' : 'damaged' };
}

async function withFile(
  files: ContentFiles,
  path: string,
  use: (file: StoredFile) => Promise<FoundOwner>,
): Promise<FoundOwner> {
  try {
    const file = await files.open(path);
    try {
      return await use(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { kind: 'absent' };
    // An extent that the disk cannot read is not deleted.
    if (codeOf(error) === 'EIO') return { kind: 'damaged' };
    throw error;
  }
}
