import type { Randomness } from '../base/randomness.js';
import { StoreUnavailableError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import type { Store } from '../kv/store.js';
import { Catalogue, ensureCatalogue, versioned } from './catalogue.js';
import { backupKey, lostKey, mapKey, memberKey, storeKeys, storeRowKey } from './keys.js';
import { storesMax } from './limits.js';
import type { Members } from './members.js';
import {
  decodeMemberRow,
  encodeLostRow,
  encodeMapRow,
  encodeMemberRow,
  encodeStoreRow,
  type LostRow,
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

/** The place of a store by its name, as people read it. */
export type PlaceOf = (name: string) => string;

export interface Admission {
  readonly placeOf: PlaceOf;
  readonly randomness: Randomness;
  /** A store of the key space that need not be there, because it is to be removed as lost. */
  readonly without?: string;
}

/**
 * Checks that the home store belongs to this key space, and that each other store is a member of
 * it. Empty stores become members, unless the catalogue says that they have ranges. Creates the
 * catalogue when there is none. Throws `MembershipError`; then nothing was changed, unless another
 * process has made one of the stores a member of other data meanwhile.
 */
export async function admitMembers(members: Members, options: Admission): Promise<void> {
  const { placeOf, randomness, without } = options;
  assertCount(members.names.length);
  const others = members.names.filter((name) => name !== members.homeName);
  const rows = new Map<string, MemberRow | undefined>();
  // Before that of the home store: another process that admits them writes that one first.
  for (const name of others) rows.set(name, await memberRowOf(members.named(name)));
  await assertHome(members, rows, placeOf);
  await assertNoneLost(members);
  const inUse = await storesInUse(members.home);
  const space = (await memberRowOf(members.home))?.space;
  const named = (name: string) => ({ name, space, inUse, place: placeOf(name) });
  for (const name of others) await assertFits(members.named(name), named(name), rows.get(name));
  await assertAllNamed(members, inUse, { placeOf, without });
  const own = await spaceOf(members, randomness);
  for (const name of others) {
    await becomeMember(members.named(name), { ...named(name), space: own });
  }
  const catalogue = new Catalogue(members.home);
  for (const name of members.names) await register(catalogue, name, placeOf(name));
}

/** The names of the stores that have ranges of a home store's key space, or are about to. */
export async function storesInUse(home: MemberStore): Promise<ReadonlySet<string>> {
  if ((await home.get(mapKey)) === undefined) return new Set();
  const catalogue = new Catalogue(home);
  // Operations first: the map has the end of a move that ends in between.
  const operations = await catalogue.operations();
  const { ranges } = await catalogue.map();
  const moved = operations.flatMap(({ row }) =>
    row.kind === 'move' ? [row.source, row.target] : [],
  );
  // Operations that are left of a lost store end without it.
  const lost = new Set((await catalogue.lostStores()).map(({ name }) => name));
  return new Set([...moved.filter((name) => !lost.has(name)), ...ranges.map(({ store }) => store)]);
}

/** The error for a place that has nothing of a store which is in use. */
export function nothingThere(name: string, place: string): MembershipError {
  return new MembershipError(
    `${place} has nothing of the store '${name}', and ranges of these data are there. Is its disk ` +
      'mounted, and is this its place? Give the place that has them: nothing was changed. ' +
      whenLost(name),
  );
}

function whenLost(name: string): string {
  return (
    'When it is lost for good, and had no range but what a cancelled move has left: tabularium ' +
    `partition store remove ${name} --lost.`
  );
}

async function assertHome(
  { home, homeName }: Members,
  others: ReadonlyMap<string, MemberRow | undefined>,
  placeOf: PlaceOf,
): Promise<void> {
  const found = await memberRowOf(home);
  if (found !== undefined && found.name !== homeName) {
    throw new MembershipError(otherName(placeOf(homeName), found));
  }
  const [name, other] = [...others].find(([, row]) => row !== undefined) ?? [];
  const isLost = found === undefined && other !== undefined && (await isEmpty(home));
  if (name === undefined || !isLost) return;
  throw new MembershipError(
    `${placeOf(name)} belongs to other data than the home store does: it is the store ` +
      `'${other.name}' there, and ${placeOf(homeName)} is empty. Is the disk of the home store ` +
      'mounted, and is this its place? Nothing was changed.',
  );
}

async function assertAllNamed(
  members: Members,
  inUse: ReadonlySet<string>,
  { placeOf, without }: { readonly placeOf: PlaceOf; readonly without: string | undefined },
): Promise<void> {
  const rows = (await new Catalogue(members.home).stores()).map(({ row }) => row);
  const known = [...rows.map(({ name }) => name), ...inUse];
  const missing = known.find((name) => !members.has(name) && name !== without);
  if (missing === undefined) return;
  const place = rows.find(({ name }) => name === missing)?.place;
  throw new MembershipError(
    `The data of ${placeOf(members.homeName)} are in several stores, and '${missing}'` +
      `${place === undefined ? '' : ` (${place})`} is not among those that were named. Name it in ` +
      'stores; when its data are not needed there, drain and remove it afterwards: ' +
      `tabularium partition store drain. ${whenLost(missing)}`,
  );
}

async function assertNoneLost({ home, names }: Members): Promise<void> {
  if ((await home.get(mapKey)) === undefined) return;
  const found = (await new Catalogue(home).lostStores()).find(({ name }) => names.includes(name));
  if (found !== undefined) throw lostBefore(found);
}

/**
 * Processes that worked on its ranges when it was given up may write to it still, and it may have
 * what others have changed since.
 */
function lostBefore({ name, place }: LostRow): MembershipError {
  return new MembershipError(
    `The store '${name}', which was at ${place}, was taken out as lost, and is not taken in again: ` +
      'what it has may be out of date. Name another store in its place, with another name and an ' +
      'empty place, or none.',
  );
}

/** Makes a store a member of a key space that is already open. Throws `MembershipError`. */
export async function addMember(
  members: Members,
  added: { readonly name: string; readonly store: MemberStore; readonly placeOf: PlaceOf },
): Promise<void> {
  const own = await memberRowOf(members.home);
  const { name, store, placeOf } = added;
  const catalogue = new Catalogue(members.home);
  const others = (await catalogue.stores()).filter(({ row }) => row.name !== name);
  assertCount(others.length + 1);
  const lost = await catalogue.lostStore(name);
  if (lost !== undefined) throw lostBefore(lost);
  const inUse = await storesInUse(members.home);
  await becomeMember(store, { space: own?.space ?? '', name, inUse, place: placeOf(name) });
  await register(catalogue, name, placeOf(name));
}

function assertCount(stores: number): void {
  if (stores <= storesMax) return;
  throw new MembershipError(
    `These are ${stores} stores, and a key space has ${storesMax} at most, the home store ` +
      'included. Name fewer, or empty one and take it out: tabularium partition store drain.',
  );
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
 * Whether the store that this process has opened by a name is a member of the key space. It is not
 * when another process has removed it, and its name and its place may be those of others by now.
 * One read of that store and one of the home store.
 */
export async function isMember(members: Members, name: string): Promise<boolean> {
  return (await ownMemberRow(members, name)) !== undefined;
}

/**
 * Removes a store from the key space. False while it has a range or an operation concerns it.
 * Afterwards the store is empty and may be used for other data. May be repeated, also when another
 * process has removed the store. Throws `MembershipError` when the store does not answer: it gets
 * no range any more, and the next attempt completes the removal.
 */
export async function removeMember(members: Members, name: string): Promise<boolean> {
  const catalogue = new Catalogue(members.home);
  for (;;) {
    const map = await catalogue.mapRow();
    const found = await catalogue.store(name);
    const { ranges } = await catalogue.map();
    const operations = await catalogue.operations();
    if (ranges.some(({ store }) => store === name)) return false;
    if (operations.some(({ row }) => concerns(row, name))) return false;
    const version = map.row.version + 1;
    const { ok } = await catalogue.commit({
      // Fails when an operation has begun meanwhile, because that changes the row of the map.
      checks: [{ key: mapKey, version: map.version }],
      puts: [{ key: mapKey, value: encodeMapRow({ ...map.row, version }) }],
      deletes: found === undefined ? [] : [storeRowKey(name)],
    });
    if (!ok) continue;
    if (members.has(name)) await deleteMemberRow(members, name);
    return true;
  }
}

/**
 * Notes that the place of a store will never answer again, and removes the store from the key space
 * without asking it. False while it has a range, or a move may still give it one. No place becomes
 * a member by this name any more, so nothing that is left there is ever read, and whoever takes
 * over an operation that concerns the store ends it without the store. May be repeated.
 */
export async function markLost(catalogue: Catalogue, name: string): Promise<boolean> {
  for (;;) {
    if ((await catalogue.lostStore(name)) !== undefined) return true;
    const map = await catalogue.mapRow();
    const found = await catalogue.store(name);
    // Operations first: the map has the end of a move that ends in between.
    const operations = await catalogue.operations();
    const { ranges } = await catalogue.map();
    if (ranges.some(({ store }) => store === name)) return false;
    if (operations.some(({ row }) => mayGive(row, name))) return false;
    const version = map.row.version + 1;
    const lost = { name, place: found?.row.place ?? 'an unknown place' };
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

/** Deletes the row of a member, unless it is that of other data by now. */
async function deleteMemberRow(members: Members, name: string): Promise<void> {
  try {
    const own = await ownMemberRow(members, name);
    if (own === undefined) return;
    const checks = [{ key: memberKey, version: own.version }];
    await members.named(name).commit({ checks, puts: [], deletes: [memberKey] });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    throw new MembershipError(
      `The store '${name}' gets no range any more, but it does not answer, so its place still says ` +
        'that it belongs to these data. Repeat the command when it answers again; when it never ' +
        `will: tabularium partition store remove ${name} --lost. ${error.message}`,
      { cause: error },
    );
  }
}

async function ownMemberRow(
  members: Members,
  name: string,
): Promise<Versioned<MemberRow> | undefined> {
  const [found, home] = await Promise.all([
    members.named(name).get(memberKey),
    memberRowOf(members.home),
  ]);
  const own = versioned(found, decodeMemberRow);
  return own?.row.name === name && own.row.space === home?.space ? own : undefined;
}

/**
 * The reason why a store cannot be used alone: it belongs to a key space of several stores.
 * Undefined when it does not.
 */
export async function partOfOthers(store: Store, place: string): Promise<string | undefined> {
  const row = await memberRowOf(store);
  if ((await store.get(mapKey)) !== undefined) {
    return (
      `The data of ${place} are spread over several stores, and it has the map of them. Name the ` +
      'stores in the configuration: the member stores, {} when there is no other.'
    );
  }
  if ((await store.get(backupKey)) !== undefined) {
    return `${place} is a backup of some partitions: tabularium partition restore puts them back.`;
  }
  if (row === undefined) return undefined;
  return (
    `${place} is the store '${row.name}' of several that have the data together. Give the home ` +
    `store as the place of the data, and this one as '${row.name}' in stores.`
  );
}

async function spaceOf(members: Members, randomness: Randomness): Promise<string> {
  const { home, homeName } = members;
  const row = { space: randomness.uuid(), name: homeName };
  // Does nothing when another process has written the row meanwhile.
  await home.commit({
    checks: [{ key: memberKey, version: 'absent' }],
    puts: [{ key: memberKey, value: encodeMemberRow(row) }],
    deletes: [],
  });
  const found = (await memberRowOf(home)) ?? row;
  await ensureCatalogue(members);
  return found.space;
}

interface NamedMember {
  readonly name: string;
  /** Undefined while the home store is of no key space. */
  readonly space: string | undefined;
  /** Stores that have ranges: an empty place is none of them. */
  readonly inUse: ReadonlySet<string>;
  readonly place: string;
}

/** Makes an empty store a member; checks one that is a member. */
async function becomeMember(
  store: MemberStore,
  named: NamedMember & { readonly space: string },
): Promise<void> {
  const { name, space } = named;
  // Another process may make it a member of something meanwhile.
  while (!(await assertFits(store, named, await memberRowOf(store)))) {
    const result = await store.commit({
      checks: [{ key: memberKey, version: 'absent' }],
      puts: [{ key: memberKey, value: encodeMemberRow({ space, name }) }],
      deletes: [],
    });
    if (result.ok) return;
  }
}

/**
 * Whether the store is a member, by the row that was found there; false when it can become one.
 * Throws when it cannot.
 */
async function assertFits(
  store: MemberStore,
  { name, space, inUse, place }: NamedMember,
  found: MemberRow | undefined,
): Promise<boolean> {
  if (found === undefined) {
    if (inUse.has(name)) throw nothingThere(name, place);
    if (await isEmpty(store)) return false;
    throw new MembershipError(
      `${place} has data of its own, and cannot become the store '${name}'. Give an empty or a ` +
        'new place, or make it the home store: location, or postgresUrl.',
    );
  }
  if (found.space !== space) {
    throw new MembershipError(
      `${place} belongs to other data than the home store does: it is the store '${found.name}' ` +
        'there. Give the place that belongs to these data, or an empty one.',
    );
  }
  if (found.name !== name) throw new MembershipError(otherName(place, found));
  return true;
}

/** Whether a store has no data. */
async function isEmpty(store: MemberStore): Promise<boolean> {
  const { entries } = await store.range(data, { limit: 1, bytesMax: 1 });
  return entries.length === 0;
}

function otherName(place: string, { name }: MemberRow): string {
  return `${place} is the store '${name}' of its data, and was named as another one. Name it '${name}'.`;
}

async function register(catalogue: Catalogue, name: string, place: string): Promise<void> {
  // Another process may write the row meanwhile, to drain the store for instance.
  for (;;) {
    const found = await catalogue.store(name);
    if (found?.row.place === place) return;
    const row = { name, state: found?.row.state ?? 'active', place } as const;
    const key = storeRowKey(name);
    const result = await catalogue.commit({
      checks: [
        { key, version: found?.version ?? 'absent' },
        { key: lostKey(name), version: 'absent' },
      ],
      puts: [{ key, value: encodeStoreRow(row) }],
    });
    if (result.ok) return;
    const lost = result.failedCheck === 1 ? await catalogue.lostStore(name) : undefined;
    if (lost !== undefined) throw lostBefore(lost);
  }
}

async function memberRowOf(store: Store): Promise<MemberRow | undefined> {
  return versioned(await store.get(memberKey), decodeMemberRow)?.row;
}

const data = { start: Buffer.alloc(0), end: storeKeys.start };
