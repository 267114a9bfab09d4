import { invariant } from '../base/invariant.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { shownAddress } from '../engines/postgres/hosts.js';
import { canBeMember } from '../kv/member-store.js';
import type { Store } from '../kv/store.js';
import { encodeTuple } from '../kv/tuple.js';
import { Catalogue } from '../partition/catalogue.js';
import { Members } from '../partition/members.js';
import { enlist, MembershipError, partOfOthers } from '../partition/membership.js';
import { ServedPartitions, type ServedMember } from '../partition/served-partitions.js';
import { Steward } from '../partition/operations/steward.js';
import { openPartitionedStore, type PartitionedStore } from '../partition/store.js';
import { openEngine, type EngineSettings, type Sharing } from './open-engine.js';
import { homeName, type MemberChoices, type StorageChoice } from './settings.js';

/**
 * Commits of blobs touch keys of the store, such as what is to be freed, so blobs stay in the home
 * store: the keys of their service, which are before those of the others.
 */
const homeUntil = encodeTuple(['queue']);

export interface PartitionSettings extends EngineSettings {
  readonly stores: MemberChoices;
}

interface Parts {
  readonly store: PartitionedStore;
  readonly members: Members;
  readonly opened: ReadonlyMap<string, ServedMember>;
  readonly settings: PartitionSettings;
}

/** A key space over several stores, and what carries out operations on its ranges. */
export class OpenPartitions extends ServedPartitions {
  readonly members: Members;
  readonly catalogue: Catalogue;
  readonly steward: Steward;
  readonly home: ServedMember;
  readonly settings: PartitionSettings;

  constructor({ store, members, opened, settings }: Parts) {
    const home = opened.get(homeName);
    invariant(home !== undefined, 'the home store is open');
    super(store, home, () => opened.values());
    this.home = home;
    this.members = members;
    this.settings = settings;
    this.catalogue = new Catalogue(members.home);
    const { clock, timers, logger } = settings;
    const onFailed = (operation: number, error: unknown) =>
      logger.error('an operation on ranges could not go on', { operation, error });
    const { catalogue } = this;
    this.steward = new Steward({ catalogue, members, clock, timers, onFailed });
  }

  override async close(): Promise<void> {
    await this.steward.stop();
    await super.close();
  }
}

/**
 * Opens the home store and those beside it as one. The owner of data also carries on operations
 * whose process is gone. Throws `DataDirectoryError`, and what engines throw.
 */
export async function openPartitions(
  settings: PartitionSettings,
  sharing: Sharing,
): Promise<OpenPartitions> {
  const choices: MemberChoices = { [homeName]: settings.storage, ...settings.stores };
  const opened = new Map<string, ServedMember>();
  try {
    for (const [name, storage] of Object.entries(choices)) {
      opened.set(name, await openMember({ ...settings, storage }, sharing));
    }
    const members = new Members(homeName, opened, { homeUntil });
    const { clock, timers, randomness } = settings;
    const placeOf = (name: string) => shownPlace(choices[name]);
    await enlist(members, { placeOf, randomness });
    const store = await openPartitionedStore({ members, clock, timers, randomness });
    const partitions = new OpenPartitions({ store, members, opened, settings });
    if (sharing === 'exclusive') partitions.steward.start();
    return partitions;
  } catch (error) {
    for (const store of opened.values()) await store.close();
    if (!(error instanceof MembershipError)) throw error;
    throw new DataDirectoryError('partitioned', error.message, { cause: error });
  }
}

/** Throws `DataDirectoryError` for a store that is one of several. */
export async function assertAlone(store: Store, storage: StorageChoice): Promise<void> {
  const problem = await partOfOthers(store, shownPlace(storage));
  if (problem !== undefined) throw new DataDirectoryError('partitioned', problem);
}

/** The store itself, or the home store of several. */
export function homeOf(store: Store): Store {
  return store instanceof OpenPartitions ? store.home : store;
}

async function openMember(settings: EngineSettings, sharing: Sharing): Promise<ServedMember> {
  const store = await openEngine(settings, sharing);
  invariant(canBeMember(store), 'every engine can be a member');
  return store;
}

/** Where a store is, for people. */
export function shownPlace(storage: StorageChoice | undefined): string {
  if (storage?.kind === 'directory') return storage.directory;
  if (storage?.kind !== 'postgres') return 'memory';
  return `${shownAddress(storage.url)}, schema ${storage.schema}`;
}
