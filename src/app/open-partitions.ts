import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { endsWithin } from '../base/async/deadline.js';
import { invariant, unreachable } from '../base/invariant.js';
import { isDataDirectory } from '../engines/lmdb/directory.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { shownAddress } from '../engines/postgres/hosts.js';
import { canBeMember } from '../kv/member-store.js';
import type { Store } from '../kv/store.js';
import { encodeTuple } from '../kv/tuple.js';
import {
  addMember,
  admitMembers,
  missingLocation,
  storesInUse,
  type Admission,
} from '../partition/admission.js';
import {
  Balancer,
  type BalancerMode,
  type BalancerOptions,
} from '../partition/balancer/balancer.js';
import type { Catalogue } from '../partition/catalogue.js';
import { PartitionCounters } from '../partition/counters.js';
import { RangeMeter } from '../partition/load/range-meter.js';
import { Members } from '../partition/members.js';
import { MembershipError, partOfOthers, StoreLocationError } from '../partition/membership.js';
import { answeringCatalogue, answeringReads } from '../partition/reach.js';
import { ServedPartitions, type ServedMember } from '../partition/served-partitions.js';
import { OperationRunner } from '../partition/operations/operation-runner.js';
import { openPartitionedStore, type PartitionedStore } from '../partition/store.js';
import { MemberDisks } from './member-disks.js';
import { openEngine, type EngineSettings, type Sharing } from './open-engine.js';
import { ContainerNames } from './partitions/container-names.js';
import { plannedText } from './partitions/texts.js';
import { homeName, type MemberChoices, type StorageChoice } from './settings.js';

/**
 * Commits of blobs touch keys of the store, such as what is to be freed, so blobs stay in the home
 * store: the keys of their service, which are before those of the others.
 */
const homeUntil = encodeTuple(['queue']);

/** The end of a store that was taken out is waited for no longer than this, in milliseconds. */
const closesWithinMs = 10_000;

export interface PartitionSettings extends EngineSettings {
  readonly stores: MemberChoices;
  readonly balancer: BalancerMode;
}

interface Parts {
  readonly store: PartitionedStore;
  readonly members: Members;
  readonly opened: Map<string, ServedMember>;
  /** Where the stores are that are open. */
  readonly locations: Map<string, StorageChoice>;
  readonly disks: MemberDisks;
  readonly meter: RangeMeter;
  readonly counters: PartitionCounters;
  readonly settings: PartitionSettings;
  readonly sharing: Sharing;
}

/** A key space over several stores, and what carries out operations on its ranges. */
export class OpenPartitions extends ServedPartitions {
  readonly members: Members;
  /** Its calls do not wait for a home store that is silent. */
  readonly catalogue: Catalogue;
  readonly operationRunner: OperationRunner;
  readonly balancer: Balancer;
  readonly meter: RangeMeter;
  readonly counters: PartitionCounters;
  readonly home: ServedMember;
  readonly disks: MemberDisks;
  readonly settings: PartitionSettings;
  readonly #opened: Map<string, ServedMember>;
  /** Where the stores are that are open here. */
  readonly #locations: Map<string, StorageChoice>;
  readonly #sharing: Sharing;
  /** Whether no other process has the catalogue. */
  readonly isAlone: boolean;
  #serves = false;

  constructor(parts: Parts) {
    const { store, members, opened, locations, disks, meter, counters, settings, sharing } = parts;
    const home = opened.get(homeName);
    invariant(home !== undefined, 'the home store is open');
    super(store, home, () => opened.values());
    this.home = home;
    this.disks = disks;
    this.members = members;
    this.settings = settings;
    this.#opened = opened;
    this.#locations = locations;
    this.#sharing = sharing;
    const { clock, timers, randomness, logger, balancer: mode } = settings;
    this.catalogue = answeringCatalogue(members, timers);
    const onFailed = (operation: number, error: unknown) =>
      logger.error('an operation on ranges could not go on', { operation, error });
    const { catalogue } = this;
    this.isAlone = sharing === 'exclusive' && isUnshared(settings);
    const operationRunner = new OperationRunner({
      catalogue,
      members,
      clock,
      timers,
      counters,
      onFailed,
      isAlone: this.isAlone,
    });
    this.meter = meter;
    this.counters = counters;
    this.operationRunner = operationRunner;
    const onTrouble = (error: unknown) => logger.error('balancing ranges failed', { error });
    const names = new ContainerNames(answeringReads(this, timers));
    const onPlan: BalancerOptions['onPlan'] = async (plan) =>
      logger.info('a plan for ranges', {
        mode,
        operations: await Promise.all(plan.operations.map((each) => plannedText(each, names))),
        findings: plan.findings.map(({ kind, range }) => `range ${range}: ${kind}`),
        ...(plan.away.size > 0 && { away: [...plan.away] }),
      });
    const reports = { onTrouble, onPlan };
    const operations = operationRunner.carriedOut;
    const tools = { catalogue, members, operations, meter, clock, timers, randomness };
    this.balancer = new Balancer({ mode, ...tools, ...reports });
  }

  /**
   * To be called when the process begins to serve requests: starts taking over abandoned operations
   * and publishing loads.
   */
  serve(): void {
    this.#serves = true;
    if (this.#sharing === 'exclusive') this.operationRunner.start();
    this.balancer.start();
  }

  /**
   * Opens a store and makes it a member of the key space, unless it is open. Throws
   * `MembershipError`, `SilentStoreError`, and the errors of engines.
   */
  async add(name: string, storage: StorageChoice): Promise<void> {
    if (this.members.has(name)) return;
    const store = await openMember({ ...this.settings, storage }, this.#sharing);
    try {
      const { randomness, timers } = this.settings;
      const added = { name, store, location: shownLocation(storage), randomness, timers };
      await addMember(this.members, added);
    } catch (error) {
      await store.close();
      throw error;
    }
    this.#opened.set(name, store);
    this.#locations.set(name, storage);
    this.disks.add(name, { storage, store });
    this.members.add(name, store);
  }

  /** The location of a store that is open here, as people read it, unless it is the given one. */
  async otherLocation(name: string, given: StorageChoice): Promise<string | undefined> {
    const own = this.#locations.get(name);
    return own === undefined || (await isSameLocation(own, given)) ? undefined : shownLocation(own);
  }

  /** The name of the store that is open here at a location. Those in memory have none. */
  async openedAt(storage: StorageChoice): Promise<string | undefined> {
    if (storage.kind === 'memory') return undefined;
    for (const [name, own] of this.#locations) {
      if (own.kind === storage.kind && (await isSameLocation(own, storage))) return name;
    }
    return undefined;
  }

  /** The greatest version that a store has given out. */
  lastVersionOf(name: string): Promise<number> {
    return this.#opened.get(name)?.lastVersion() ?? Promise.resolve(Infinity);
  }

  /**
   * Removes and closes a store that has no range any more. One that is silent is closed when it
   * answers, and not waited for. Rejects with the error of one that cannot be closed.
   */
  async remove(name: string): Promise<void> {
    const store = this.#opened.get(name);
    this.#opened.delete(name);
    this.#locations.delete(name);
    this.disks.remove(name);
    this.members.remove(name);
    if (store === undefined) return;
    const { timers, logger } = this.settings;
    const closed = store.close();
    if (await endsWithin(closed, { limitMs: closesWithinMs, timers })) return;
    logger.warn('a store that was taken out is not closed yet', { store: name });
    closed.catch((error: unknown) =>
      logger.error('a store that was taken out could not be closed', { store: name, error }),
    );
  }

  override async close(): Promise<void> {
    if (this.#serves) await this.balancer.stop();
    await this.operationRunner.stop();
    this.disks.close();
    await super.close();
  }
}

/** Which stores need not be open. */
interface Opening extends Pick<Admission, 'without'> {
  /**
   * Stores that are to be removed: one whose location is another, or was not given, is left out.
   */
  readonly removing?: readonly string[];
}

/**
 * Opens the home store and those beside it as one, but for the stores `without`. Throws
 * `DataDirectoryError`, and what engines throw.
 */
export async function openPartitions(
  settings: PartitionSettings,
  sharing: Sharing,
  { without = [], removing = [] }: Opening = {},
): Promise<OpenPartitions> {
  try {
    return await openWithout(settings, sharing, without);
  } catch (error) {
    if (!(error instanceof MembershipError)) throw error;
    const misplaced = error instanceof StoreLocationError ? [error.store] : [];
    if (misplaced.some((name) => removing.includes(name) && !without.includes(name))) {
      return openPartitions(settings, sharing, { without: [...without, ...misplaced], removing });
    }
    throw new DataDirectoryError('partitioned', error.message, { cause: error });
  }
}

/** Throws `MembershipError`, and what engines throw. */
async function openWithout(
  settings: PartitionSettings,
  sharing: Sharing,
  without: readonly string[],
): Promise<OpenPartitions> {
  const meter = new RangeMeter(settings.randomness);
  const counters = new PartitionCounters();
  const others = Object.entries(settings.stores).filter(([name]) => !without.includes(name));
  const locations = new Map([[homeName, settings.storage], ...others]);
  const opened = new Map<string, ServedMember>();
  try {
    const home = await openMember(settings, sharing);
    opened.set(homeName, home);
    const inUse = await storesInUse(home);
    for (const [name, storage] of others) {
      if (isNotThere(storage)) {
        const missing = await missingLocation(home, {
          name,
          location: shownLocation(storage),
          inUse,
        });
        if (missing !== undefined) throw missing;
      }
      opened.set(name, await openMember({ ...settings, storage }, sharing));
    }
    const disks = new MemberDisks(settings);
    for (const [name, storage] of locations) {
      const store = opened.get(name);
      if (store !== undefined) disks.add(name, { storage, store });
    }
    const members = new Members(homeName, opened, { homeUntil, diskOf: (name) => disks.of(name) });
    const { clock, timers, randomness } = settings;
    const locationOf = (name: string) => shownLocation(locations.get(name));
    await admitMembers(members, { locationOf, randomness, without });
    const store = await openPartitionedStore({
      members,
      meter,
      counters,
      clock,
      timers,
      randomness,
    });
    return new OpenPartitions({
      store,
      members,
      opened,
      locations,
      disks,
      meter,
      counters,
      settings,
      sharing,
    });
  } catch (error) {
    for (const store of opened.values()) await store.close();
    throw error;
  }
}

/** Whether a store is to be in a directory that has no data, as one of a disk not mounted has. */
function isNotThere(storage: StorageChoice): boolean {
  return storage.kind === 'directory' && !isDataDirectory(storage.directory);
}

/** Throws `DataDirectoryError` for a store that is one of several. */
export async function assertAlone(store: Store, storage: StorageChoice): Promise<void> {
  const problem = await partOfOthers(store, shownLocation(storage));
  if (problem !== undefined) throw new DataDirectoryError('partitioned', problem);
}

/** The store itself, or the home store of several. */
export function homeOf(store: Store): Store {
  return store instanceof OpenPartitions ? store.home : store;
}

/** Whether the home store lets no other process in. */
function isUnshared({ storage, journal }: PartitionSettings): boolean {
  switch (storage.kind) {
    case 'memory':
      return true;
    case 'directory':
      return journal === 'on';
    case 'postgres':
      return false;
    default:
      return unreachable(storage);
  }
}

async function openMember(settings: EngineSettings, sharing: Sharing): Promise<ServedMember> {
  const store = await openEngine(settings, sharing);
  invariant(canBeMember(store), 'every engine can be a member');
  return store;
}

/** Directories are compared without symbolic links, databases without passwords and parameters. */
async function isSameLocation(one: StorageChoice, other: StorageChoice): Promise<boolean> {
  if (one.kind !== 'directory' || other.kind !== 'directory') {
    return shownLocation(one) === shownLocation(other);
  }
  return (await realDirectory(one.directory)) === (await realDirectory(other.directory));
}

/** One that is not there, or may not be looked at, is the one of its path. */
function realDirectory(directory: string): Promise<string> {
  return realpath(directory).catch(() => resolve(directory));
}

/** Where a store is, for people. */
export function shownLocation(storage: StorageChoice | undefined): string {
  if (storage?.kind === 'directory') return storage.directory;
  if (storage?.kind !== 'postgres') return 'memory';
  return `${shownAddress(storage.url)}, schema ${storage.schema}`;
}
