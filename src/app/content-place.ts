import { realpath } from 'node:fs/promises';
import { makeDirectory } from '../base/make-directory.js';
import { storeKey } from '../kv/partition-prefix.js';
import type { Store } from '../kv/store.js';

/** Where the bytes of large blobs are that a shared key space names. */
interface ContentPlace {
  readonly machine: string;
  readonly directory: string;
}

/** The bytes of blobs are for nobody else. */
const privateMode = 0o700;
const placeKey = storeKey('content');

/**
 * Where else the content of a key space is kept that servers on several machines share; undefined:
 * in this directory. The first server that opens the key space decides.
 */
export async function placeOfContent(
  store: Store,
  { machine, directory }: ContentPlace,
): Promise<string | undefined> {
  makeDirectory(directory, privateMode);
  const own = placeText({ machine, directory: await realpath(directory) });
  await store.commit({
    checks: [{ key: placeKey, version: 'absent' }],
    puts: [{ key: placeKey, value: Buffer.from(own) }],
    deletes: [],
  });
  const entry = await store.get(placeKey);
  const place = entry && Buffer.from(entry.value).toString();
  return place === own ? undefined : place;
}

function placeText({ machine, directory }: ContentPlace): string {
  return `${machine} in ${directory}`;
}
