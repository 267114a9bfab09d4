import { PartitionRefusal, type NewStore } from '../http/control/partitions.js';
import { StoreClosedError, StoreUnavailableError } from '../kv/errors.js';
import {
  changeStore,
  isElsewhere,
  isMember,
  MembershipError,
  removeMember,
} from '../partition/membership.js';
import { removeLostStore } from '../partition/operations/lost-store.js';
import { awayStores, SilentStoreError } from '../partition/reach.js';
import { shownLocation, type OpenPartitions } from './open-partitions.js';
import { memberNames } from './options/stores.js';
import { memberOf, type StorageChoice } from './settings.js';
import { refusalOf, refuse, unlessSilent } from './partition-refusals.js';

/** Takes stores in, empties them and takes them out. Methods throw `PartitionRefusal`. */
export class StoreChanges {
  readonly #open: OpenPartitions;

  constructor(open: OpenPartitions) {
    this.#open = open;
  }

  /**
   * Takes a store in, or takes it back that was to be emptied. `store` may be empty when the
   * process has it open.
   */
  add(name: string, store: NewStore): Promise<void> {
    return unlessSilent(this.#add(name, store));
  }

  async #add(name: string, store: NewStore): Promise<void> {
    const open = this.#open;
    if (!memberNames.test(name) || name === open.members.homeName) {
      throw new PartitionRefusal(
        `'${name.slice(0, 40)}' cannot name a store: use 1 to 32 lower-case letters, digits and -, ` +
          `begin with a letter, and leave '${open.members.homeName}' to the home store.`,
      );
    }
    const isKnown = await this.#hasStore(name, store);
    if (!isKnown) {
      const storage = this.#storageOf(store);
      const other = await open.openedAt(storage);
      if (other !== undefined && other !== name) {
        throw new PartitionRefusal(
          `${shownLocation(storage)} is the store '${other}' of these data already: give a location of ` +
            'its own to each store.',
        );
      }
      try {
        // Another process has taken out what this one has open by that name.
        await open.remove(name);
        await open.add(name, storage);
        open.operationRunner.retryNow();
      } catch (error) {
        if (error instanceof SilentStoreError) throw error;
        refuse(error);
      }
    }
    const isActive = changeStore(open.catalogue, name, 'active');
    if (!(await (isKnown ? isActive : unlessSilent(isActive, isOpen(name))))) {
      throw await this.#noStore(name);
    }
  }

  /** From now on the ranges of a store are moved to others. */
  drain(name: string): Promise<void> {
    return unlessSilent(this.#drain(name));
  }

  async #drain(name: string): Promise<void> {
    const { catalogue, operationRunner } = this.#open;
    this.#assertNotHome(name);
    if (!(await changeStore(catalogue, name, 'draining'))) throw await this.#noStore(name);
    operationRunner.start();
    try {
      await operationRunner.tend();
    } catch (error) {
      // The store is marked, so a later look empties it.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  /** Takes an empty store out. */
  remove(name: string): Promise<void> {
    return unlessSilent(this.#remove(name), mayBeOut(name));
  }

  async #remove(name: string): Promise<void> {
    const { members, catalogue, settings } = this.#open;
    this.#assertNotHome(name);
    // One that another process has removed, or this one half, is still open here.
    if ((await catalogue.store(name)) === undefined && !members.has(name)) {
      throw await this.#noStore(name);
    }
    const isRemoved = removeMember(members, name, settings.timers).catch(refuseMembership);
    if (!(await isRemoved)) {
      throw new PartitionRefusal(
        `The store '${name}' has ranges, or an operation moves some to it or from it. Empty it ` +
          `first: tabularium partition store drain ${name}. When it is lost for good, and no range ` +
          `is there: tabularium partition store remove ${name} --lost.`,
      );
    }
    await this.#open.remove(name);
  }

  /** Takes out a store that never answers again and has no range. */
  removeLost(name: string): Promise<void> {
    return unlessSilent(this.#removeLost(name), mayBeOut(name));
  }

  async #removeLost(name: string): Promise<void> {
    const { members, catalogue, operationRunner, settings } = this.#open;
    this.#assertNotHome(name);
    if ((await catalogue.lostStore(name)) === undefined) {
      if ((await catalogue.store(name)) === undefined && !members.has(name)) {
        throw await this.#noStore(name);
      }
      const isAway = (await awayStores(members, settings.timers)).has(name);
      if (members.has(name)) await this.#assertLost(name, isAway);
    }
    const { operations } = operationRunner;
    const tools = { catalogue, operations, timers: settings.timers };
    if (!(await removeLostStore(tools, name))) {
      throw new PartitionRefusal(
        `The store '${name}' has ranges, whose data are nowhere else, so it is not taken out. Bring ` +
          'its location back, or a copy of it.',
      );
    }
    await this.#open.remove(name);
  }

  /** For a store that is open here. `isAway`: its location here does not answer. */
  async #assertLost(name: string, isAway: boolean): Promise<void> {
    const { members, settings } = this.#open;
    if (await isElsewhere(members, name, settings.timers)) {
      throw new PartitionRefusal(
        `The store '${name}' of these data was taken out and in again since this server has opened ` +
          'it, so it may be at another location, and this server does not know whether that one is ' +
          `lost. Close what is open here: tabularium partition store remove ${name}, and repeat this ` +
          'when the other one is lost. When what is open here does not answer: ask the server that ' +
          'took the store in again, or, where no server runs, repeat this with --config.',
      );
    }
    if (!isAway && (await this.#answers(name))) {
      throw new PartitionRefusal(
        `The store '${name}' answers, so it is not lost. Empty it and take it out: tabularium ` +
          `partition store drain ${name}, then remove.`,
      );
    }
  }

  /** Whether the store that is open here answers in time and without an error, and is a member. */
  async #answers(name: string): Promise<boolean> {
    const { members, settings } = this.#open;
    try {
      return await isMember(members, name, settings.timers);
    } catch (error) {
      if (error instanceof StoreClosedError) throw error;
      return false;
    }
  }

  #assertNotHome(name: string): void {
    if (name !== this.#open.members.homeName) return;
    throw new PartitionRefusal('The home store has the map of ranges and the blobs: it stays.');
  }

  /**
   * Whether the store is open here and in the map. A location that was given must be the one where
   * it is.
   */
  async #hasStore(name: string, given: NewStore): Promise<boolean> {
    const { members, catalogue, settings } = this.#open;
    if (!members.has(name) || (await catalogue.store(name)) === undefined) return false;
    if (Object.keys(given).length === 0) return true;
    if (!(await isMember(members, name, settings.timers))) return false;
    const storage = this.#storageOf(given);
    const location = await this.#open.otherLocation(name, storage);
    if (location === undefined) return true;
    throw new PartitionRefusal(
      `The store '${name}' is at ${location}, and not at ${shownLocation(storage)}: nothing was changed. ` +
        'Leave the location out to take it back. To use the other location, take it in by another name, ' +
        `and empty this store then: tabularium partition store drain ${name}.`,
    );
  }

  /** Throws `PartitionRefusal`. */
  #storageOf(store: NewStore): StorageChoice {
    try {
      return memberOf(store, ['store'], homeLocationOf(this.#open.settings.storage));
    } catch (error) {
      return refuse(error);
    }
  }

  #noStore(name: string): Promise<PartitionRefusal> {
    return refusalOf(this.#open, 'no such store', { range: 0, store: name });
  }
}

function isOpen(name: string): string {
  return (
    `The store '${name}' was taken in. When it was to be emptied before, repeat the command when the ` +
    'home store answers, so that it takes ranges again.'
  );
}

function mayBeOut(name: string): string {
  return (
    `The store '${name}' may be taken out in part, or later all the same: repeat the command when the ` +
    'store that is silent answers.'
  );
}

function refuseMembership(error: unknown): never {
  if (error instanceof MembershipError) return refuse(error);
  throw error;
}

function homeLocationOf(storage: StorageChoice) {
  const location = storage.kind === 'memory' ? undefined : storage.directory;
  return { inMemory: storage.kind === 'memory', location };
}
