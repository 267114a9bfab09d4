import { asBuffer } from '../../base/bytes.js';
import type { Randomness } from '../../base/randomness.js';
import type { ContentFiles } from '../../content/files/content-files.js';
import { writeWholeFile } from '../../content/files/whole-file.js';
import { storeKey } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';

/** Where the bytes of large blobs are that a shared key space names. */
export interface SharedContentPlace {
  readonly files: ContentFiles;
  /** Where the files are, for people. */
  readonly shown: string;
  readonly randomness: Randomness;
}

const placeKey = storeKey('content');
const idBytes = 8;
/** The id of a key space, and where its content was when the first server opened it. */
const placeForm = /^(?<id>[0-9a-f]{16}) (?<shown>.*)$/s;

/**
 * Where else the content of a shared key space is kept; undefined: in these files. The first server
 * that opens the key space decides, and marks its files. Whoever sees the mark has the same files,
 * on whatever machine and under whatever path.
 */
export async function placeOfContent(
  store: Store,
  { files, shown, randomness }: SharedContentPlace,
): Promise<string | undefined> {
  if ((await store.get(placeKey)) === undefined) {
    const id = asBuffer(randomness.bytes(idBytes)).toString('hex');
    // First, so that no key space names a place that nobody has.
    await writeWholeFile(files, markOf(id), Buffer.from(shown));
    await files.syncFolder('');
    const { ok } = await store.commit({
      checks: [{ key: placeKey, version: 'absent' }],
      puts: [{ key: placeKey, value: Buffer.from(`${id} ${shown}`) }],
      deletes: [],
    });
    if (ok) return undefined;
    await files.remove(markOf(id));
  }
  const text = asBuffer((await store.get(placeKey))?.value ?? new Uint8Array()).toString();
  const { id, shown: place = text } = placeForm.exec(text)?.groups ?? {};
  return id !== undefined && files.isThere(markOf(id)) ? undefined : place;
}

/** The file that marks the content of a key space. */
function markOf(id: string): string {
  return `key-space.${id}`;
}
