import { createHash } from 'node:crypto';
import type { Entry, KeyRange, RangePage, Store } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import type { MemberStore } from '../../kv/member-store.js';
import { copyStateEntry, isCopied, type CopyState } from '../moves/copy-state.js';

const pageEntries = 1_000;
const pageBytes = 4 * 1024 * 1024;

/** The count, bytes and hash of all entries of a store that belong to a copy. */
export interface Summary {
  readonly entries: number;
  /** Bytes of keys and values. */
  readonly bytes: number;
  /** SHA-256 of keys, versions and values in order, in hexadecimal digits. */
  readonly hash: string;
}

/** Called with the bytes of keys and values that were read since the last call. */
export type OnBytes = (bytes: number) => void;

/** Reads all entries. The store must not be written to meanwhile. */
export async function summaryOf(store: Store, onBytes: OnBytes): Promise<Summary> {
  const hash = createHash('sha256');
  const head = Buffer.alloc(headBytes);
  let entries = 0;
  let bytes = 0;
  for await (const page of pagesOf(store, allKeys)) {
    for (const { key, value, version } of page) {
      head.writeUInt32BE(key.length, 0);
      head.writeUInt32BE(value.length, valueLengthAt);
      head.writeBigUInt64BE(BigInt(version), versionAt);
      hash.update(head).update(key).update(value);
    }
    entries += page.length;
    bytes += bytesOf(page);
    onBytes(bytesOf(page));
  }
  return { entries, bytes, hash: hash.digest('hex') };
}

const headBytes = 16;
const [valueLengthAt, versionAt] = [4, 8];

/**
 * Copies the remaining entries of a copy, with their versions. Each page also writes the progress
 * to the target, so that a copy can be continued after a crash.
 */
export async function copyEntries(
  source: Store,
  target: MemberStore,
  { state, onBytes }: { readonly state: CopyState; readonly onBytes: OnBytes },
): Promise<void> {
  const { source: from, lastVersion, after } = state;
  let { entries: copied, bytes } = state;
  const rest = { start: after === undefined ? allKeys.start : keyAfter(after) };
  for await (const entries of pagesOf(source, rest)) {
    const last = entries.at(-1);
    if (last === undefined) continue;
    copied += entries.length;
    bytes += bytesOf(entries);
    const reached = { source: from, lastVersion, after: last.key, entries: copied, bytes };
    await target.ingest({
      entries: [...entries, copyStateEntry(reached)],
      deletes: [],
      floor: lastVersion,
    });
    onBytes(bytesOf(entries));
  }
}

/** Whether the store has entries that a copy would have. */
export async function hasEntries(store: Store): Promise<boolean> {
  for await (const page of pagesOf(store, allKeys)) if (page.length > 0) return true;
  return false;
}

const allKeys: KeyRange = { start: Buffer.alloc(0) };

/** The entries of a range that belong to a copy, page by page; the next one is read ahead. */
export async function* pagesOf(
  store: Store,
  range: KeyRange,
): AsyncGenerator<readonly Entry[], void, void> {
  let reading: Promise<RangePage> | undefined = readPage(store, range);
  while (reading !== undefined) {
    const { entries, more }: RangePage = await reading;
    const last: Entry | undefined = entries.at(-1);
    const rest: KeyRange | undefined =
      last === undefined ? undefined : { ...range, start: keyAfter(last.key) };
    reading = more && rest !== undefined ? readPage(store, rest) : undefined;
    // A reader that gets this far sees the rejection.
    reading?.catch(() => undefined);
    yield entries.filter(isCopied);
  }
}

function readPage(store: Store, range: KeyRange): Promise<RangePage> {
  return store.range(range, { limit: pageEntries, bytesMax: pageBytes });
}

/** The bytes of keys and values of entries. */
export function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
}
