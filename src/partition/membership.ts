import type { Timers } from '../base/async/timers.js';
import { messageOf } from '../base/thrown.js';
import { StoreClosedError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import type { Store } from '../kv/store.js';
import { type Catalogue, versioned } from './catalogue.js';
import { backupKey, lostKey, mapKey, memberKey, storeRowKey } from './keys.js';
import type { Members } from './members.js';
import { answeringCatalogue, answeringHome, answeringMember } from './reach.js';
import {
  decodeMemberRow,
  encodeLostRow,
  encodeMapRow,
  encodeStoreRow,
  type MemberRow,
  type OperationRow,
  type StoreRow,
  type StoreState,
  type Versioned,
} from './rows.js';

/** A store cannot be used as it was named. The message says what to do. */
export class MembershipError extends Error {
  override readonly name = 'MembershipError';
}

/** A store of the catalogue was not named, or was named with another location. */
export class StoreLocationError extends MembershipError {
  readonly store: string;

  constructor(store: string, message: string) {
    super(message);
    this.store = store;
  }
}

/** Sets whether ranges may move to a store. False when the catalogue has no such store. */
export async function changeStore(
  catalogue: Catalogue,
  name: string,
  state: StoreState,
): Promise<boolean> {
  for (;;) {
    const found = await catalogue.store(name);
    if (found === undefined) return false;
    if (found.row.state === state) return true;
    const key = storeRowKey(name);
    const { ok } = await catalogue.commit({
      checks: [{ key, version: found.version }],
      puts: [{ key, value: encodeStoreRow({ ...found.row, state }) }],
    });
    if (ok) return true;
  }
}

/**
 * The stores of the key space that this process has opened. Another process may have
 * removed one of those that are open here.
 */
export async function knownStores(
  catalogue: Catalogue,
  members: Members,
): Promise<readonly Versioned<StoreRow>[]> {
  return (await catalogue.stores()).filter(({ row }) => members.has(row.name));
}

/**
 * Whether the store that this process has opened under a name is still the member of that name. It
 * is not when another process has removed it; its name and its location may then be in other use.
 * One read of that store and two of the home store. Rejects with `SilentStoreError` when one of
 * them is silent.
 */
export async function isMember(members: Members, name: string, timers: Timers): Promise<boolean> {
  // Another task of this process may close the store meanwhile.
  const store = members.named(name);
  const [own, known] = await Promise.all([
    ownMemberRow({ members, timers }, name),
    answeringCatalogue(members, timers).store(name),
  ]);
  if (own !== undefined) members.noteAdmission(store, own.row.admission);
  return own !== undefined && (known === undefined || known.row.admission === own.row.admission);
}

/**
 * Whether the member of a name is another store than the one that is open here. While the open one
 * is silent, or its row cannot be read, its last known row decides; false when it has none. Rejects
 * with `StoreClosedError` when the store was closed.
 */
export async function isElsewhere(
  members: Members,
  name: string,
  timers: Timers,
): Promise<boolean> {
  const known = await answeringCatalogue(members, timers).store(name);
  if (known === undefined || !members.has(name)) return false;
  const store = members.named(name);
  try {
    return !(await isMember(members, name, timers));
  } catch (error) {
    if (error instanceof StoreClosedError) throw error;
    const own = members.admissionOf(store);
    return own !== undefined && own !== known.row.admission;
  }
}

/**
 * Removes a store from the key space. False while it has a range or an operation concerns it.
 * Afterwards the store is empty and may be used for other data. May be repeated, also when another
 * process has removed the store; another store that was admitted under this name since stays.
 * Throws `MembershipError` when the store is silent for seconds, or its row cannot be read or
 * deleted. The store gets no range any more then, and the next attempt completes the removal.
 */
export async function removeMember(
  members: Members,
  name: string,
  timers: Timers,
): Promise<boolean> {
  const catalogue = answeringCatalogue(members, timers);
  for (;;) {
    // Read first: another store can be admitted under this name only after a removal, which changes
    // this row.
    const map = await catalogue.mapRow();
    // Read before the row in the catalogue is deleted: a process that admits the store again
    // afterwards writes another row.
    const own = await openedRow(members, name, timers);
    if (await isElsewhere(members, name, timers)) {
      const location = (await catalogue.store(name))?.row.location ?? 'an unknown location';
      await own?.delete(staysElsewhere(name, location));
      return true;
    }
    const found = await catalogue.store(name);
    const { ranges } = await catalogue.map();
    const operations = await catalogue.operations();
    if (ranges.some(({ store }) => store === name)) return false;
    if (operations.some(({ row }) => concerns(row, name))) return false;
    const version = map.row.version + 1;
    const { ok } = await catalogue.commit({
      checks: [
        // Fails when an operation has begun meanwhile, because that changes the row of the map.
        { key: mapKey, version: map.version },
        // Fails when another process has taken the store in, or out, meanwhile.
        { key: storeRowKey(name), version: found?.version ?? 'absent' },
      ],
      puts: [{ key: mapKey, value: encodeMapRow({ ...map.row, version }) }],
      deletes: found === undefined ? [] : [storeRowKey(name)],
    });
    if (!ok) continue;
    await own?.delete(isHalfRemoved(name));
    return true;
  }
}

/**
 * Marks a store as lost and removes it from the key space without asking it. False while it has a
 * range, or a move may still give it one. Its name is never used again, so nothing that is left
 * there is ever read, and a process that takes over an operation that concerns the store ends it
 * without the store. May be repeated.
 */
export async function markLost(catalogue: Catalogue, name: string): Promise<boolean> {
  for (;;) {
    if ((await catalogue.lostStore(name)) !== undefined) return true;
    const map = await catalogue.mapRow();
    const found = await catalogue.store(name);
    // Operations are read first: when a move ends in between, the map already has its result.
    const operations = await catalogue.operations();
    const { ranges } = await catalogue.map();
    if (ranges.some(({ store }) => store === name)) return false;
    if (operations.some(({ row }) => mayGive(row, name))) return false;
    const version = map.row.version + 1;
    const lost = { name, location: found?.row.location ?? 'an unknown location' };
    const { ok } = await catalogue.commit({
      // The row of the map changes when an operation begins, and when a range moves.
      checks: [{ key: mapKey, version: map.version }],
      puts: [
        { key: mapKey, value: encodeMapRow({ ...map.row, version }) },
        { key: lostKey(name), value: encodeLostRow(lost) },
      ],
      deletes: [storeRowKey(name)],
    });
    if (ok) return true;
  }
}

/** Whether an operation is about a store: a move to it, or from it. */
export function concerns(row: OperationRow, store: string): boolean {
  return row.kind === 'move' && (row.source === store || row.target === store);
}

/** Whether a move may still give a store its range. A cancelled one never does. */
export function mayGive(row: OperationRow, store: string): boolean {
  return row.kind === 'move' && row.target === store && row.step !== 'cancel';
}

/**
 * Tells people what to do when the store that is open here keeps its row and its name was taken in
 * again. The location may be the same one.
 */
function staysElsewhere(name: string, location: string): string {
  return (
    `The store '${name}' of these data was taken out and in again, at ${location}, since this ` +
    'server has opened it, and stays. What is open here by this name did not confirm that it no ' +
    'longer belongs to these data: repeat the command when it answers again. When it never will, ' +
    `and is another location than that one, start this server with ${location}. When it is the ` +
    `same location: tabularium partition store remove ${name} --lost, of the server that took it ` +
    'in again, or with --config where no server runs.'
  );
}

/** Tells people what to do when the store keeps its row and no other store has its name. */
function isHalfRemoved(name: string): string {
  return (
    `The store '${name}' gets no range any more, but its location did not confirm that it no longer ` +
    'belongs to these data. Repeat the command when it answers again; when it never will: ' +
    `tabularium partition store remove ${name} --lost.`
  );
}

/** The row of a store that is open here, as it was when read. */
interface OpenedRow {
  /**
   * Deletes the row, unless it has changed since or belongs to other data. Throws `MembershipError`
   * with the text `otherwise` when the row could not be read or cannot be deleted.
   */
  delete(otherwise: string): Promise<void>;
}

/**
 * Reads the row of a store; undefined when it is not open here. Rejects with `StoreClosedError`
 * alone.
 */
async function openedRow(
  members: Members,
  name: string,
  timers: Timers,
): Promise<OpenedRow | undefined> {
  if (!members.has(name)) return undefined;
  const store = answeringMember({ members, timers }, name);
  const [read] = await Promise.allSettled([ownMemberRow({ members, timers }, name)]);
  if (read.status === 'rejected' && read.reason instanceof StoreClosedError) throw read.reason;
  return {
    async delete(otherwise) {
      try {
        if (read.status === 'rejected') throw read.reason;
        const { value } = read;
        if (value === undefined) return;
        await deleteRowOf(store, value.version);
      } catch (error) {
        if (error instanceof StoreClosedError) throw error;
        throw new MembershipError(`${otherwise} ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

async function ownMemberRow(
  { members, timers }: { readonly members: Members; readonly timers: Timers },
  name: string,
): Promise<Versioned<MemberRow> | undefined> {
  const [found, home] = await Promise.all([
    answeringMember({ members, timers }, name).get(memberKey),
    memberRowOf(answeringHome(members, timers)),
  ]);
  const own = versioned(found, decodeMemberRow);
  return own?.row.name === name && own.row.space === home?.space ? own : undefined;
}

/**
 * The reason why a store cannot be used alone: it belongs to a key space of several stores.
 * Undefined when it does not.
 */
export async function partOfOthers(store: Store, location: string): Promise<string | undefined> {
  const row = await memberRowOf(store);
  if ((await store.get(mapKey)) !== undefined) {
    return (
      `The data of ${location} are spread over several stores, and it has the map of them. Name the ` +
      'stores in the configuration: the member stores, {} when there is no other.'
    );
  }
  if ((await store.get(backupKey)) !== undefined) {
    return `${location} is a backup of some partitions: tabularium partition restore puts them back.`;
  }
  if (row === undefined) return undefined;
  return (
    `${location} is the store '${row.name}' of several that have the data together. Give the home ` +
    `store as the location of the data, and this one as '${row.name}' in stores.`
  );
}

/** Deletes the row of a member, unless it has changed since. */
export async function deleteRowOf(
  store: Pick<MemberStore, 'commit'>,
  version: number,
): Promise<void> {
  const checks = [{ key: memberKey, version }];
  await store.commit({ checks, puts: [], deletes: [memberKey] });
}

/** The row of the store itself, if it is a member of a key space. */
export async function memberRowOf(store: Pick<Store, 'get'>): Promise<MemberRow | undefined> {
  return versioned(await store.get(memberKey), decodeMemberRow)?.row;
}
