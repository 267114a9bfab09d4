import type { Timers } from '../base/async/timers.js';
import type { Randomness } from '../base/randomness.js';
import type { MemberStore } from '../kv/member-store.js';
import type { Check } from '../kv/store.js';
import { Catalogue, ensureCatalogue, versioned } from './catalogue.js';
import { lostKey, mapKey, memberKey, storeKeys, storeRowKey } from './keys.js';
import { storesMax } from './limits.js';
import type { Members } from './members.js';
import { deleteRowOf, memberRowOf, MembershipError, StoreLocationError } from './membership.js';
import { answeringHome, askedMember, SilentStoreError, type AnsweringHome } from './reach.js';
import {
  decodeMemberRow,
  encodeMemberRow,
  encodeStoreRow,
  type LostRow,
  type MemberRow,
  type StoreRow,
} from './rows.js';

/** Returns the text that shows people where a store is. */
export type LocationOf = (name: string) => string;

export interface Admission {
  readonly locationOf: LocationOf;
  readonly randomness: Randomness;
  /** Stores that may be absent, because they are to be removed as lost. */
  readonly without?: readonly string[];
}

/**
 * Checks that the home store belongs to this key space, and that each other store is the member
 * that the catalogue has under its name. Empty stores become members, unless the catalogue has
 * another location under their name. Creates the catalogue when there is none. Throws
 * `MembershipError`; then nothing was changed, with one exception: when another process admits one
 * of the stores at the same time, the stores that were admitted before it stay members.
 */
export async function admitMembers(members: Members, options: Admission): Promise<void> {
  const { locationOf, randomness, without = [] } = options;
  assertCount(members.names.length);
  const others = members.names.filter((name) => name !== members.homeName);
  const catalogue = new Catalogue(members.home);
  // Read before the rows of the members, because a store gets its row before the catalogue has it.
  const known = await storeRowsOf(catalogue);
  const rows = new Map<string, MemberRow | undefined>();
  // Read before the row of the home store, because a process that admits stores writes that one
  // first.
  for (const name of others) rows.set(name, await memberRowOf(members.named(name)));
  await assertHome(members, rows, locationOf);
  await assertNoneLost(members);
  const inUse = await storesInUse(members.home);
  const space = (await memberRowOf(members.home))?.space;
  const named = (name: string) => {
    return { name, space, inUse, location: locationOf(name), known: known.get(name) };
  };
  for (const name of others) await assertFits(members.named(name), named(name), rows.get(name));
  await assertAllNamed(members, inUse, { locationOf, without });
  const home = await homeRowOf(members, randomness);
  await register(catalogue, home, { location: locationOf(members.homeName), isKnown: false });
  for (const name of others) {
    const own = { ...named(name), space: home.space };
    const store = members.named(name);
    const { admission } = await takeIn(catalogue, { ...own, store, randomness });
    members.noteAdmission(store, admission);
  }
}

async function storeRowsOf(catalogue: Catalogue): Promise<ReadonlyMap<string, StoreRow>> {
  return new Map((await catalogue.stores()).map(({ row }) => [row.name, row]));
}

/** The names of the stores that have ranges of this key space, or that a move brings one to. */
export async function storesInUse(home: AnsweringHome): Promise<ReadonlySet<string>> {
  if ((await home.get(mapKey)) === undefined) return new Set();
  const catalogue = new Catalogue(home);
  // Operations are read first: when a move ends in between, the map already has its result.
  const operations = await catalogue.operations();
  const { ranges } = await catalogue.map();
  const moved = operations.flatMap(({ row }) =>
    row.kind === 'move' ? [row.source, row.target] : [],
  );
  // Remaining operations that concern a lost store end without it.
  const lost = new Set((await catalogue.lostStores()).map(({ name }) => name));
  return new Set([...moved.filter((name) => !lost.has(name)), ...ranges.map(({ store }) => store)]);
}

/**
 * Checks a location without data before it is opened as a store, which would create files there.
 * Returns an error when the store is in use or the catalogue has it, since its disk is probably not
 * mounted, and when the store was taken out as lost.
 */
export async function missingLocation(
  home: MemberStore,
  { name, location, inUse }: Pick<NamedMember, 'name' | 'location' | 'inUse'>,
): Promise<MembershipError | undefined> {
  if (inUse.has(name)) return nothingThere(name, location);
  const catalogue = new Catalogue(home);
  const lost = await catalogue.lostStore(name);
  if (lost !== undefined) return lostBefore(lost);
  const known = await catalogue.store(name);
  return known && locationMismatch(known.row, location);
}

/** The error for an empty location of a store that is in use. */
function nothingThere(name: string, location: string): MembershipError {
  return new MembershipError(
    `${location} has nothing of the store '${name}', and ranges of these data are there. Is its disk ` +
      'mounted, and is this its location? Give the location that has them: nothing was changed. ' +
      whenLost(name),
  );
}

function whenLost(name: string): string {
  return (
    'When it is lost for good, and had no range but what a cancelled move has left: tabularium ' +
    `partition store remove ${name} --lost; name all that are lost.`
  );
}

async function assertHome(
  { home, homeName }: Members,
  others: ReadonlyMap<string, MemberRow | undefined>,
  locationOf: LocationOf,
): Promise<void> {
  const found = await memberRowOf(home);
  if (found !== undefined && found.name !== homeName) {
    throw new MembershipError(otherName(locationOf(homeName), found));
  }
  const [name, other] = [...others].find(([, row]) => row !== undefined) ?? [];
  const isLost = found === undefined && other !== undefined && (await isEmpty(home));
  if (name === undefined || !isLost) return;
  throw new MembershipError(
    `${locationOf(name)} belongs to other data than the home store does: it is the store ` +
      `'${other.name}' there, and ${locationOf(homeName)} is empty. Is the disk of the home store ` +
      'mounted, and is this its location? Nothing was changed.',
  );
}

async function assertAllNamed(
  members: Members,
  inUse: ReadonlySet<string>,
  { locationOf, without }: { readonly locationOf: LocationOf; readonly without: readonly string[] },
): Promise<void> {
  const rows = (await new Catalogue(members.home).stores()).map(({ row }) => row);
  const known = [...rows.map(({ name }) => name), ...inUse];
  const missing = known.find((name) => !members.has(name) && !without.includes(name));
  if (missing === undefined) return;
  const location = rows.find(({ name }) => name === missing)?.location;
  throw new StoreLocationError(
    missing,
    `The data of ${locationOf(members.homeName)} are in several stores, and '${missing}'` +
      `${location === undefined ? '' : ` (${location})`} is not among those that were named. Name it in ` +
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
 * A lost store is never admitted again: processes that worked on its ranges at that time may still
 * write to it, and its data may be out of date.
 */
function lostBefore({ name, location }: LostRow): MembershipError {
  return new MembershipError(
    `The store '${name}', which was at ${location}, was taken out as lost, and is not taken in again: ` +
      'what it has may be out of date. Name another store in its place, with another name and an ' +
      'empty location, or none.',
  );
}

/**
 * Makes a store a member of a key space that is already open. Throws `MembershipError`, and
 * `SilentStoreError` when the store or the home store is silent.
 */
export async function addMember(
  members: Members,
  added: {
    readonly name: string;
    readonly store: MemberStore;
    readonly location: string;
    readonly randomness: Randomness;
    readonly timers: Timers;
  },
): Promise<void> {
  const { name, timers } = added;
  const home = answeringHome(members, timers);
  const own = await memberRowOf(home);
  const catalogue = new Catalogue(home);
  const rows = await storeRowsOf(catalogue);
  const known = rows.get(name);
  assertCount(rows.size + (known === undefined ? 1 : 0));
  const lost = await catalogue.lostStore(name);
  if (lost !== undefined) throw lostBefore(lost);
  const inUse = await storesInUse(home);
  const store = askedMember(added.store, { store: name, timers });
  const taken = { ...added, store, space: own?.space ?? '', inUse, known };
  try {
    const { admission } = await takeIn(catalogue, taken);
    members.noteAdmission(added.store, admission);
  } catch (error) {
    // Its row may be there by now, or be written later. The next attempt goes on with it.
    throw error instanceof SilentStoreError ? error.saying(mayBeTakenIn(name)) : error;
  }
}

function mayBeTakenIn(name: string): string {
  return (
    `The store '${name}' is not open here. It may become one of these data all the same: ` +
    'tabularium partition list shows whether it is. Repeat the command when all stores answer.'
  );
}

function assertCount(stores: number): void {
  if (stores <= storesMax) return;
  throw new MembershipError(
    `These are ${stores} stores, and a key space has ${storesMax} at most, the home store ` +
      'included. Name fewer, or empty one and take it out: tabularium partition store drain.',
  );
}

/** The member row of the home store; the first process that opens it writes the row. */
async function homeRowOf(members: Members, randomness: Randomness): Promise<MemberRow> {
  const { home, homeName } = members;
  const row = { space: randomness.uuid(), name: homeName, admission: randomness.uuid() };
  // Does nothing when another process has written the row meanwhile.
  await home.commit({
    checks: [{ key: memberKey, version: 'absent' }],
    puts: [{ key: memberKey, value: encodeMemberRow(row) }],
    deletes: [],
  });
  const found = (await memberRowOf(home)) ?? row;
  await ensureCatalogue(members);
  return found;
}

interface NamedMember {
  readonly name: string;
  /** Undefined while the home store is of no key space. */
  readonly space: string | undefined;
  /** Stores that have ranges, so their locations cannot be empty. */
  readonly inUse: ReadonlySet<string>;
  readonly location: string;
  /** The row of this store in the catalogue, read before the location was opened. */
  readonly known: StoreRow | undefined;
}

/** What is asked of a store that becomes a member. */
type EnteredStore = Pick<MemberStore, 'get' | 'range' | 'commit'>;

interface OpenedMember extends NamedMember {
  readonly space: string;
  readonly store: EnteredStore;
  readonly randomness: Randomness;
  /** Whether an attempt before has made a member of an empty store. */
  readonly wasEmpty?: boolean;
}

/**
 * Makes an empty store a member, or checks one that is a member already, and writes its row into
 * the catalogue. Throws `MembershipError` when another process has admitted another location under
 * this name meanwhile; a store that was empty is then empty again.
 */
async function takeIn(catalogue: Catalogue, taken: OpenedMember): Promise<MemberRow> {
  const { location, known, store } = taken;
  // Read before the member row is written. A removal reads that row, then changes the row of the
  // map, and then deletes the version that it has read: not what is written here, or the check
  // fails.
  const map = known === undefined ? await catalogue.mapRow() : undefined;
  const check = map && { key: mapKey, version: map.version };
  const { row, version, wasEmpty } = await becomeMember(taken);
  try {
    const isKnown = known !== undefined;
    const isThere = await register(catalogue, row, { location, isKnown, ...(check && { check }) });
    // Another process is removing the store, and may not have deleted the member row yet.
    return isThere ? row : await takeIn(catalogue, { ...taken, wasEmpty, known: undefined });
  } catch (error) {
    const isRefused = error instanceof MembershipError && wasEmpty && version !== undefined;
    if (isRefused) await deleteRowOf(store, version);
    throw error;
  }
}

/**
 * Returns the row of a member, with its version when it was written in this call, and whether the
 * store was empty before. Writes the row of a store again when the catalogue does not have it. The
 * new version protects the row from an older removal, which was given up because the store was
 * silent and may still be carried out.
 */
async function becomeMember(taken: OpenedMember): Promise<{
  readonly row: MemberRow;
  readonly version: number | undefined;
  readonly wasEmpty: boolean;
}> {
  const { name, space, store, randomness, known } = taken;
  // Another process may admit the store at the same time.
  for (;;) {
    const found = versioned(await store.get(memberKey), decodeMemberRow);
    await assertFits(store, taken, found?.row);
    const wasEmpty = found === undefined || taken.wasEmpty === true;
    if (found !== undefined && known !== undefined) {
      return { row: found.row, version: undefined, wasEmpty };
    }
    const row = found?.row ?? { space, name, admission: randomness.uuid() };
    const result = await store.commit({
      checks: [{ key: memberKey, version: found?.version ?? 'absent' }],
      puts: [{ key: memberKey, value: encodeMemberRow(row) }],
      deletes: [],
    });
    if (result.ok) return { row, version: result.version, wasEmpty };
  }
}

/**
 * Throws when a store neither is the member of that name nor can become it. `found` is its member
 * row.
 */
async function assertFits(
  store: EnteredStore,
  { name, space, inUse, location, known }: NamedMember,
  found: MemberRow | undefined,
): Promise<void> {
  if (found === undefined) {
    if (inUse.has(name)) throw nothingThere(name, location);
    if (!(await isEmpty(store))) {
      throw new MembershipError(
        `${location} has data of its own, and cannot become the store '${name}'. Give an empty or a ` +
          'new location, or make it the home store: location, or postgresUrl.',
      );
    }
  } else if (found.space !== space) {
    throw new MembershipError(
      `${location} belongs to other data than the home store does: it is the store '${found.name}' ` +
        'there. Give the location that belongs to these data, or an empty one.',
    );
  } else if (found.name !== name) {
    throw new MembershipError(
      `${otherName(location, found)} Where another location has that name by now, this one was taken out ` +
        'and has no range of these data: delete what is there, and it may have any name.',
    );
  }
  if (known !== undefined && found?.admission !== known.admission)
    throw locationMismatch(known, location);
}

/** The error for a location under a name for which the catalogue has another location. */
function locationMismatch({ name, location }: StoreRow, given: string): MembershipError {
  const same = location === given ? ', of another machine or with another disk' : '';
  return new StoreLocationError(
    name,
    `${given} is not the store '${name}' of these data: another location was taken in by this name, ` +
      `${location}${same}. Give that location, with its disk mounted; or take this one in by another ` +
      'name, beside that one. To use this name for another location, take the store out first: ' +
      `tabularium partition store remove ${name}, with --config where no server runs. When its ` +
      `location is lost for good: tabularium partition store remove ${name} --lost; name all that are ` +
      `lost. Nothing of ${given} was changed.`,
  );
}

/** Whether a store has no data. */
async function isEmpty(store: EnteredStore): Promise<boolean> {
  const { entries } = await store.range(data, { limit: 1, bytesMax: 1 });
  return entries.length === 0;
}

function otherName(location: string, { name }: MemberRow): string {
  return `${location} is the store '${name}' of its data, and was named as another one. Name it '${name}'.`;
}

/**
 * Writes the row of a member into the catalogue. Returns false, and writes nothing, when `isKnown`
 * is set and the catalogue no longer has the store, or when it does not have it and the check
 * fails. Throws `MembershipError` when the catalogue has another location under this name.
 */
async function register(
  catalogue: Catalogue,
  { name, admission }: MemberRow,
  { location, isKnown, check }: { location: string; isKnown: boolean; check?: Check },
): Promise<boolean> {
  // Another process may write the row at the same time, for example to drain the store.
  for (;;) {
    const found = await catalogue.store(name);
    if (found !== undefined && found.row.admission !== admission) {
      throw locationMismatch(found.row, location);
    }
    if (found === undefined && isKnown) return false;
    if (found?.row.location === location) return true;
    const row = { name, state: found?.row.state ?? 'active', location, admission } as const;
    const key = storeRowKey(name);
    const result = await catalogue.commit({
      checks: [
        { key, version: found?.version ?? 'absent' },
        { key: lostKey(name), version: 'absent' },
        ...(found === undefined && check !== undefined ? [check] : []),
      ],
      puts: [{ key, value: encodeStoreRow(row) }],
    });
    if (result.ok) return true;
    const lost = result.failedCheck === 1 ? await catalogue.lostStore(name) : undefined;
    if (lost !== undefined) throw lostBefore(lost);
    if (result.failedCheck === 2) return false;
  }
}

const data = { start: Buffer.alloc(0), end: storeKeys.start };
