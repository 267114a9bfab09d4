import type { Randomness } from '../base/randomness.js';
import type { MemberStore } from '../kv/member-store.js';
import { Catalogue, ensureCatalogue, versioned } from './catalogue.js';
import { lostKey, mapKey, memberKey, storeKeys, storeRowKey } from './keys.js';
import { storesMax } from './limits.js';
import type { Members } from './members.js';
import { deleteRowOf, memberRowOf, MembershipError, StorePlaceError } from './membership.js';
import {
  decodeMemberRow,
  encodeMemberRow,
  encodeStoreRow,
  type LostRow,
  type MemberRow,
  type StoreRow,
} from './rows.js';

/** The place of a store by its name, as people read it. */
export type PlaceOf = (name: string) => string;

export interface Admission {
  readonly placeOf: PlaceOf;
  readonly randomness: Randomness;
  /** Stores of the key space that need not be there, because they are to be removed as lost. */
  readonly without?: readonly string[];
}

/**
 * Checks that the home store belongs to this key space, and that each other store is the member of
 * it that the catalogue knows by its name. Empty stores become members, unless the catalogue knows
 * another place by their name. Creates the catalogue when there is none. Throws `MembershipError`;
 * then nothing was changed, unless another process has made one of the stores a member of other
 * data meanwhile, or taken another place in by one of the names: stores that were admitted before
 * that one are members then.
 */
export async function admitMembers(members: Members, options: Admission): Promise<void> {
  const { placeOf, randomness, without = [] } = options;
  assertCount(members.names.length);
  const others = members.names.filter((name) => name !== members.homeName);
  const catalogue = new Catalogue(members.home);
  // Before the rows of the members: a place has its row before the catalogue knows it.
  const known = await storeRowsOf(catalogue);
  const rows = new Map<string, MemberRow | undefined>();
  // Before that of the home store: another process that admits them writes that one first.
  for (const name of others) rows.set(name, await memberRowOf(members.named(name)));
  await assertHome(members, rows, placeOf);
  await assertNoneLost(members);
  const inUse = await storesInUse(members.home);
  const space = (await memberRowOf(members.home))?.space;
  const named = (name: string) => {
    return { name, space, inUse, place: placeOf(name), known: known.get(name) };
  };
  for (const name of others) await assertFits(members.named(name), named(name), rows.get(name));
  await assertAllNamed(members, inUse, { placeOf, without });
  const home = await homeRowOf(members, randomness);
  await register(catalogue, home, { place: placeOf(members.homeName), isKnown: false });
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

/**
 * What is wrong with a place in which nothing is, before it is opened as a store, which would make
 * files there: its disk is not mounted, when the store is in use or the catalogue knows it, or it
 * was taken out as lost.
 */
export async function missingPlace(
  home: MemberStore,
  { name, place, inUse }: Pick<NamedMember, 'name' | 'place' | 'inUse'>,
): Promise<MembershipError | undefined> {
  if (inUse.has(name)) return nothingThere(name, place);
  const catalogue = new Catalogue(home);
  const lost = await catalogue.lostStore(name);
  if (lost !== undefined) return lostBefore(lost);
  const known = await catalogue.store(name);
  return known && otherPlace(known.row, place);
}

/** The error for a place that has nothing of a store which is in use. */
function nothingThere(name: string, place: string): MembershipError {
  return new MembershipError(
    `${place} has nothing of the store '${name}', and ranges of these data are there. Is its disk ` +
      'mounted, and is this its place? Give the place that has them: nothing was changed. ' +
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
  { placeOf, without }: { readonly placeOf: PlaceOf; readonly without: readonly string[] },
): Promise<void> {
  const rows = (await new Catalogue(members.home).stores()).map(({ row }) => row);
  const known = [...rows.map(({ name }) => name), ...inUse];
  const missing = known.find((name) => !members.has(name) && !without.includes(name));
  if (missing === undefined) return;
  const place = rows.find(({ name }) => name === missing)?.place;
  throw new StorePlaceError(
    missing,
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
  added: {
    readonly name: string;
    readonly store: MemberStore;
    readonly place: string;
    readonly randomness: Randomness;
  },
): Promise<void> {
  const own = await memberRowOf(members.home);
  const { name } = added;
  const catalogue = new Catalogue(members.home);
  const rows = await storeRowsOf(catalogue);
  const known = rows.get(name);
  assertCount(rows.size + (known === undefined ? 1 : 0));
  const lost = await catalogue.lostStore(name);
  if (lost !== undefined) throw lostBefore(lost);
  const inUse = await storesInUse(members.home);
  const taken = { ...added, space: own?.space ?? '', inUse, known };
  const { admission } = await takeIn(catalogue, taken);
  members.noteAdmission(added.store, admission);
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
  /** Stores that have ranges: an empty place is none of them. */
  readonly inUse: ReadonlySet<string>;
  readonly place: string;
  /** The store of this name, as the catalogue knew it before the place was looked at. */
  readonly known: StoreRow | undefined;
}

interface OpenedMember extends NamedMember {
  readonly space: string;
  readonly store: MemberStore;
  readonly randomness: Randomness;
}

/**
 * Makes an empty store a member, and checks one that is a member; then the catalogue knows it. When
 * another process has taken another place in by this name meanwhile, throws `MembershipError`, and
 * a store that was empty is empty again.
 */
async function takeIn(catalogue: Catalogue, taken: OpenedMember): Promise<MemberRow> {
  const { row, version } = await becomeMember(taken);
  const { place, known } = taken;
  try {
    const isThere = await register(catalogue, row, { place, isKnown: known !== undefined });
    // Another process removes it, and may not have deleted the row of the store yet.
    return isThere ? row : await takeIn(catalogue, { ...taken, known: undefined });
  } catch (error) {
    const isRefused = error instanceof MembershipError && version !== undefined;
    if (isRefused) await deleteRowOf(taken.store, version);
    throw error;
  }
}

/**
 * The row of a member, with its version when the store has become one here. A row of a store that
 * the catalogue does not know is written again: a removal that was given up because the store was
 * silent would delete it otherwise when it is carried out at last.
 */
async function becomeMember(
  taken: OpenedMember,
): Promise<{ readonly row: MemberRow; readonly version: number | undefined }> {
  const { name, space, store, randomness, known } = taken;
  // Another process may make it a member of something meanwhile.
  for (;;) {
    const found = versioned(await store.get(memberKey), decodeMemberRow);
    await assertFits(store, taken, found?.row);
    if (found !== undefined && known !== undefined) return { row: found.row, version: undefined };
    const row = found?.row ?? { space, name, admission: randomness.uuid() };
    const result = await store.commit({
      checks: [{ key: memberKey, version: found?.version ?? 'absent' }],
      puts: [{ key: memberKey, value: encodeMemberRow(row) }],
      deletes: [],
    });
    if (result.ok) return { row, version: found === undefined ? result.version : undefined };
  }
}

/**
 * Throws when a store, with the row that was found there, neither is the member of that name nor
 * can become it.
 */
async function assertFits(
  store: MemberStore,
  { name, space, inUse, place, known }: NamedMember,
  found: MemberRow | undefined,
): Promise<void> {
  if (found === undefined) {
    if (inUse.has(name)) throw nothingThere(name, place);
    if (!(await isEmpty(store))) {
      throw new MembershipError(
        `${place} has data of its own, and cannot become the store '${name}'. Give an empty or a ` +
          'new place, or make it the home store: location, or postgresUrl.',
      );
    }
  } else if (found.space !== space) {
    throw new MembershipError(
      `${place} belongs to other data than the home store does: it is the store '${found.name}' ` +
        'there. Give the place that belongs to these data, or an empty one.',
    );
  } else if (found.name !== name) {
    throw new MembershipError(
      `${otherName(place, found)} Where another place has that name by now, this one was taken out ` +
        'and has no range of these data: delete what is there, and it may have any name.',
    );
  }
  if (known !== undefined && found?.admission !== known.admission) throw otherPlace(known, place);
}

/** The error for a place that is not the one which the catalogue knows by its name. */
function otherPlace({ name, place }: StoreRow, given: string): MembershipError {
  const same = place === given ? ', of another machine or with another disk' : '';
  return new StorePlaceError(
    name,
    `${given} is not the store '${name}' of these data: another place was taken in by this name, ` +
      `${place}${same}. Give that place, with its disk mounted; or take this one in by another ` +
      'name, beside that one. To use this name for another place, take the store out first: ' +
      `tabularium partition store remove ${name}, with --config where no server runs. When its ` +
      `place is lost for good: tabularium partition store remove ${name} --lost; name all that are ` +
      `lost. Nothing of ${given} was changed.`,
  );
}

/** Whether a store has no data. */
async function isEmpty(store: MemberStore): Promise<boolean> {
  const { entries } = await store.range(data, { limit: 1, bytesMax: 1 });
  return entries.length === 0;
}

function otherName(place: string, { name }: MemberRow): string {
  return `${place} is the store '${name}' of its data, and was named as another one. Name it '${name}'.`;
}

/**
 * Lets the catalogue know a member. False, and nothing was written, when it was said to know it and
 * does not any more. Throws `MembershipError` when it knows another place.
 */
async function register(
  catalogue: Catalogue,
  { name, admission }: MemberRow,
  { place, isKnown }: { readonly place: string; readonly isKnown: boolean },
): Promise<boolean> {
  // Another process may write the row meanwhile, to drain the store for instance.
  for (;;) {
    const found = await catalogue.store(name);
    if (found !== undefined && found.row.admission !== admission) {
      throw otherPlace(found.row, place);
    }
    if (found === undefined && isKnown) return false;
    if (found?.row.place === place) return true;
    const row = { name, state: found?.row.state ?? 'active', place, admission } as const;
    const key = storeRowKey(name);
    const result = await catalogue.commit({
      checks: [
        { key, version: found?.version ?? 'absent' },
        { key: lostKey(name), version: 'absent' },
      ],
      puts: [{ key, value: encodeStoreRow(row) }],
    });
    if (result.ok) return true;
    const lost = result.failedCheck === 1 ? await catalogue.lostStore(name) : undefined;
    if (lost !== undefined) throw lostBefore(lost);
  }
}

const data = { start: Buffer.alloc(0), end: storeKeys.start };
