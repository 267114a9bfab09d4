import { concurrently } from '../base/async/concurrently.js';
import { nextTurn } from '../base/async/turns.js';
import { StoredExtents, type ExtentFault } from '../content/files/stored-extents.js';
import { withChanges } from '../engines/journal/left-changes.js';
import { storedEntries } from '../engines/lmdb/check/stored-entries.js';
import type { Entry } from '../kv/store.js';
import { extentsOfBlobs, isOfBlobs, type BlobExtent } from '../services/blobs/stored-blobs.js';
import type { CheckReport } from './check.js';

/** Files that are read at the same time, because many are short. */
const filesAtOnce = 4;
/** Pages of the data file that are read before yielding. */
const pagesAtOnce = 100;

/** A file of the content that is missing or damaged. */
export interface ContentDamage extends ExtentFault {
  readonly account: string;
  readonly container: string;
  readonly blob: string;
  /** The path of the file. */
  readonly file: string;
}

export interface ContentReport {
  /** Files that blobs name. */
  readonly files: number;
  /** The bytes of these files that blobs use. */
  readonly bytes: number;
  /** Files that are damaged or missing. */
  readonly damages: number;
  /** Files that no blob names, such as those left by a crash. Servers delete them. */
  readonly leftovers: number;
}

export interface ContentListener {
  /** The total of files and bytes that blobs name, before any file is read. */
  begin(total: Pick<ContentReport, 'files' | 'bytes'>): void;
  /** Called with the bytes that were read and found intact. */
  read(bytes: number): void;
  damage(damage: ContentDamage): void;
}

/**
 * Reads the content of all blobs and compares it with its checksums. `report`: that of the same
 * directory, with no damage. Changes nothing.
 */
export async function checkContent(
  directory: string,
  { journal }: Pick<CheckReport, 'journal'>,
  listener: ContentListener,
): Promise<ContentReport> {
  const changes = (journal?.changes ?? []).filter(({ key }) => isOfBlobs(key));
  const named = (): AsyncGenerator<BlobExtent, void, void> =>
    extentsOfBlobs(inTurns(withChanges(storedEntries(directory, isOfBlobs), changes)));
  const total = { files: 0, bytes: 0 };
  for await (const { bytes } of named()) {
    total.files += 1;
    total.bytes += bytes;
  }
  listener.begin(total);
  const extents = new StoredExtents(directory);
  let damages = 0;
  let missing = 0;
  await concurrently(named(), filesAtOnce, async ({ account, container, blob, id, bytes }) => {
    const fault = await extents.verify(id, bytes, (read) => listener.read(read));
    if (fault === undefined) return;
    damages += 1;
    if (fault.problem === 'missing') missing += 1;
    listener.damage({ account, container, blob, file: extents.fileOf(id), ...fault });
  });
  const leftovers = (await extents.count()) - (total.files - missing);
  return { ...total, damages, leftovers };
}

async function* inTurns(pages: Iterable<readonly Entry[]>): AsyncGenerator<Entry, void, void> {
  let count = 0;
  for (const page of pages) {
    yield* page;
    count += 1;
    if (count % pagesAtOnce === 0) await nextTurn();
  }
}
