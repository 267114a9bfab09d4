import { asBuffer } from '../../base/bytes.js';
import type { Randomness } from '../../base/randomness.js';
import type { ContentFiles } from '../../content/files/content-files.js';
import { writeWholeFile } from '../../content/files/whole-file.js';
import { storeKey } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';

/** Where the bytes of large blobs are that a shared key space names. */
export interface SharedContentLocation {
  readonly files: ContentFiles;
  /** Where the files are, for people. */
  readonly shown: string;
  readonly randomness: Randomness;
}

const locationKey = storeKey('content');
const idBytes = 8;
/** The id of a key space, and where its content was when the first server opened it. */
const locationForm = /^(?<id>[0-9a-f]{16}) (?<shown>.*)$/s;

/**
 * Where else the content of a shared key space is kept; undefined: in these files. The first server
 * that opens the key space decides, and marks its files. A server that finds the mark has the same
 * files, on any machine and under any path.
 */
export async function locationOfContent(
  store: Store,
  { files, shown, randomness }: SharedContentLocation,
): Promise<string | undefined> {
  if ((await store.get(locationKey)) === undefined) {
    const id = asBuffer(randomness.bytes(idBytes)).toString('hex');
    // The mark is written first, so that no key space names a location without files.
    await writeWholeFile(files, markOf(id), Buffer.from(shown));
    await files.syncFolder('');
    const { ok } = await store.commit({
      checks: [{ key: locationKey, version: 'absent' }],
      puts: [{ key: locationKey, value: Buffer.from(`${id} ${shown}`) }],
      deletes: [],
    });
    if (ok) return undefined;
    await files.remove(markOf(id));
  }
  const text = asBuffer((await store.get(locationKey))?.value ?? new Uint8Array()).toString();
  const { id, shown: location = text } = locationForm.exec(text)?.groups ?? {};
  return id !== undefined && files.isThere(markOf(id)) ? undefined : location;
}

/** The file that marks the content of a key space. */
function markOf(id: string): string {
  return `key-space.${id}`;
}
