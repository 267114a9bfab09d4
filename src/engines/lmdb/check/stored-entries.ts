import { join } from 'node:path';
import { compareBytes, type Bytes } from '../../../base/bytes.js';
import type { Entry } from '../../../kv/store.js';
import { dataFile } from '../directory/file-kinds.js';
import { checksumBytes } from '../rows/record.js';
import { treeOf, versionBytes } from './check.js';
import { PageFile } from './page.js';
import { readSnapshotHead, type TreeHead } from './snapshot-head.js';
import { Walk } from './walk.js';

/**
 * The entries of a data file that was found intact and to which no process writes, in the order of
 * their keys: those wanted of each page. Opens no environment, which would write its lock file.
 */
export function* storedEntries(
  directory: string,
  isWanted: (key: Bytes) => boolean,
): Generator<readonly Entry[], void, void> {
  using file = new PageFile(join(directory, dataFile));
  const head = readSnapshotHead(file);
  const walk = new Walk(file, head, (what) => {
    throw new Error(`${join(directory, dataFile)} has changed since it was checked: ${what}`);
  });
  const trees = new Map<string, TreeHead>();
  const main = {
    name: 'main',
    compare: compareBytes,
    entry: (found: Parameters<typeof treeOf>[0]) => void trees.set(...treeOf(found)),
  };
  for (const _ of walk.tree(head.main, main)) continue;
  const tree = trees.get('entries');
  if (tree === undefined) return;
  let entries: Entry[] = [];
  const entry = ({ key, data }: { readonly key: Bytes; readonly data: Bytes }): void => {
    if (!isWanted(key)) return;
    const version = new DataView(data.buffer, data.byteOffset, versionBytes).getFloat64(0, true);
    // The memory of a page is used again.
    const value = Buffer.from(data.subarray(versionBytes, -checksumBytes));
    entries.push({ key: Buffer.from(key), value, version });
  };
  for (const _ of walk.tree(tree, { name: 'entries', compare: compareBytes, entry })) {
    yield entries;
    entries = [];
  }
}
