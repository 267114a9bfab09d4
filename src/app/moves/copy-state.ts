import type { Bytes } from '../../base/bytes.js';
import { isStoreKey, storeKey } from '../../kv/partition-prefix.js';
import type { Guard } from '../../kv/guards.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { Entry, Store } from '../../kv/store.js';
import { decodeTuple } from '../../kv/tuple.js';

/** What the target of a copy that has not ended says of it. */
export interface CopyState {
  /** Where the entries come from, in words. */
  readonly source: string;
  /** The last version of the source. A source that has another one was written to since. */
  readonly lastVersion: number;
  /** The key of the last entry that was copied. */
  readonly after: Bytes | undefined;
  readonly entries: number;
  readonly bytes: number;
  /** The source was served while it was copied: the target may differ from it anywhere. */
  readonly isOnline?: boolean;
}

const stateName = 'copy';
const stateKey = storeKey(stateName);

/**
 * What each key space notes of itself: of its journal, of where its content is and who uses that,
 * of a copy, of a move to another place, and of the stores that have the data together.
 */
const ownNames: ReadonlySet<unknown> = new Set([
  'journal',
  'content',
  'content-lease',
  'content-session',
  'partition',
  'moved',
  stateName,
]);
const nameAt = 1;

/** Whether an entry belongs to a copy. */
export function isCopied({ key }: Pick<Entry, 'key'>): boolean {
  if (!isStoreKey(key)) return true;
  return !ownNames.has(decodeTuple(key, 0, nameAt + 1)[nameAt]);
}

/** Undefined: no copy into the store was left unfinished. */
export async function copyStateOf(store: Pick<Store, 'get'>): Promise<CopyState | undefined> {
  const entry = await store.get(stateKey);
  if (entry === undefined) return undefined;
  const { after, ...rest } = JSON.parse(Buffer.from(entry.value).toString()) as StoredState;
  return { ...rest, after: after === '' ? undefined : Buffer.from(after, 'hex') };
}

/** Holds while the store is the same unfinished copy; undefined: it is none. */
export async function guardOfCopy(store: Pick<Store, 'get'>): Promise<Guard | undefined> {
  const entry = await store.get(stateKey);
  return entry && { key: stateKey, version: entry.version };
}

/**
 * Makes guards of an unfinished copy void: whatever relies on one and arrives late does nothing.
 * False: the store is no unfinished copy.
 */
export async function renewCopy(store: MemberStore): Promise<boolean> {
  for (;;) {
    const entry = await store.get(stateKey);
    if (entry === undefined) return false;
    const { ok } = await store.fence({
      checks: [{ key: stateKey, version: entry.version }],
      puts: [{ key: stateKey, value: entry.value }],
      deletes: [],
    });
    if (ok) return true;
  }
}

/** The state as an entry, to be ingested with what it tells of. */
export function copyStateEntry({ after = Buffer.alloc(0), ...rest }: CopyState): Entry {
  const stored: StoredState = { ...rest, after: Buffer.from(after).toString('hex') };
  // What relies on its version, reads it.
  return { key: stateKey, value: Buffer.from(JSON.stringify(stored)), version: 1 };
}

/** The key to delete when a copy has ended. */
export const copyStateKey = stateKey;

type StoredState = Omit<CopyState, 'after'> & { readonly after: string };
