import type { Bytes } from '../../base/bytes.js';
import { isStoreKey, storeKey } from '../../kv/partition-prefix.js';
import type { Guard } from '../../kv/guards.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { Entry, Store } from '../../kv/store.js';
import { decodeTuple } from '../../kv/tuple.js';

/** The state of an unfinished copy, stored in its target. */
export interface CopyState {
  /** The location of the source, as people read it. */
  readonly source: string;
  /**
   * The last version of the source at the beginning. It differs later when the source was written
   * to.
   */
  readonly lastVersion: number;
  /** The key of the last entry that was copied. */
  readonly after: Bytes | undefined;
  readonly entries: number;
  readonly bytes: number;
  /** Whether the source was served during the copy; the target may differ from it anywhere then. */
  readonly isOnline?: boolean;
}

const stateName = 'copy';
const stateKey = storeKey(stateName);

/**
 * Owners of keys of the store that describe this key space itself, and are not copied: its journal,
 * the location and the users of its content, a copy, a move, and its member stores.
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

/** The state of an unfinished copy into the store; undefined when there is none. */
export async function copyStateOf(store: Pick<Store, 'get'>): Promise<CopyState | undefined> {
  const entry = await store.get(stateKey);
  if (entry === undefined) return undefined;
  const { after, ...rest } = JSON.parse(Buffer.from(entry.value).toString()) as StoredState;
  return { ...rest, after: after === '' ? undefined : Buffer.from(after, 'hex') };
}

/** A guard that holds while the store is the same unfinished copy; undefined when it is none. */
export async function guardOfCopy(store: Pick<Store, 'get'>): Promise<Guard | undefined> {
  const entry = await store.get(stateKey);
  return entry && { key: stateKey, version: entry.version };
}

/**
 * Invalidates all guards of an unfinished copy, so that late writes which rely on them do nothing.
 * False when the store is no unfinished copy.
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

/** The state as an entry, to be written together with the entries that it counts. */
export function copyStateEntry({ after = Buffer.alloc(0), ...rest }: CopyState): Entry {
  const stored: StoredState = { ...rest, after: Buffer.from(after).toString('hex') };
  // Any version will do: users of the version read it from the store.
  return { key: stateKey, value: Buffer.from(JSON.stringify(stored)), version: 1 };
}

/** The key to delete when a copy has ended. */
export const copyStateKey = stateKey;

type StoredState = Omit<CopyState, 'after'> & { readonly after: string };
