import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { lazyList, type List } from '../../base/lazy-list.js';
import { hasInstantVersions } from '../../kv/instant-versions.js';
import type { CommitBatch, Entry, KeyRange, RangePage, Store } from '../../kv/store.js';
import { appendString, prefixRange, stringAt, stringRange } from '../../kv/tuple.js';
import { ContainerIds } from './container-ids.js';
import { NameReservations, type NameReservation } from './name-reservations.js';
import {
  decodeDeleted,
  encodeDeleted,
  type DeletedContainer,
  type SoftDeletion,
} from './soft-deleted-containers.js';
import {
  containerNameKey,
  containerNamesPrefix,
  containerPrefix,
  droppedContainerKey,
  deletedContainerKey,
  deletedContainersPrefix,
  readDeletedKey,
  type DeletedKey,
} from './keys.js';
import { overtaken, untilCommitted } from './until-committed.js';
import { accountsOf, entriesOf } from './walk.js';

/** Attempts to change a directory entry against concurrent changes. */
const attemptsMax = 100;

/** The size of the cache of container keys; when it is full, it is cleared. */
const knownContainersMax = 10_000;

/** The longest identity in UTF-16 code units, so that every directory entry has a legal key. */
const identityLengthMax = 1024;

/** The byte limit of a page, far more than any one record. */
const pageBytesMax = 1 << 20;

/** Pages up to this size are read without reserving memory. */
const shortPageBytesMax = 64 * 1024;

/** The stored fields common to all containers. `name` is as created. */
export interface ContainerRecord {
  readonly id: number;
  readonly name: string;
}

/**
 * How one service stores its containers. `Draft`: a record to write, where it may leave the time of
 * the commit open; every record is one.
 */
export interface ContainerKind<R extends Draft, Draft extends ContainerRecord = R> {
  /** First element of every key: `table`, `queue`, `blob`. */
  readonly service: string;
  /**
   * The identity of a name; undefined when no container can have the name. Absent: the name is the
   * identity.
   */
  readonly identityOf?: (name: string) => string | undefined;
  encode(record: Draft): Bytes;
  /** `version`: that of the record's entry, the time of its last change. */
  decode(value: Bytes, version: number): R;
  /** Reads the id in a record without decoding the rest, which may be long. */
  idOf(value: Bytes): number;
}

/** Identities from `start` on and before `end`, in ordinal order of UTF-16 code units. */
export interface IdentityRange {
  readonly start: string;
  /** Absent: beyond every identity. */
  readonly end?: string | undefined;
}

export interface ContainerPage<R extends ContainerRecord> {
  /** Decoded on access, because decoded records take several times the stored bytes. */
  readonly records: List<R>;
  /** The identity of the first record after the page; absent on the last page. */
  readonly next?: string;
}

/** One page of deleted containers. */
export interface DeletedPage<R extends ContainerRecord> {
  readonly containers: List<DeletedContainer<R>>;
  /** The place of the first one after the page; absent on the last page. */
  readonly next?: DeletedKey;
}

interface KnownContainer {
  /** The key of the directory entry. */
  readonly key: Bytes;
  readonly version: number;
  readonly prefix: Bytes;
}

/** The writes that replace a directory entry, in one commit that checks the entry. */
interface Replacement<T> extends Pick<CommitBatch, 'puts' | 'deletes' | 'grows'> {
  /** Called with the version of the commit. */
  readonly result: (version: number) => T;
}

/**
 * The named containers of all accounts in one service: tables, queues, blob containers. A name maps
 * to an id that is never reused, and the content of a container is stored under its id; so dropping
 * or emptying one is a single commit of constant size, and `droppedContainersSweep` frees the space
 * later.
 *
 * The _identity_ distinguishes and orders the containers of an account: the name, or, where names
 * are compared without case, the name in lower case.
 *
 * Every change is atomic. One that conflicts with concurrent changes of the same container is
 * retried, and throws `ServerBusy` after a hundred attempts.
 */
export class Containers<R extends Draft, Draft extends ContainerRecord = R> {
  readonly #store: Store;
  readonly #kind: ContainerKind<R, Draft>;
  readonly #ids: ContainerIds;
  /** Absent: a name is free as soon as its container is dropped. */
  readonly #reservations: NameReservations | undefined;
  /**
   * A cache by account and name as spelled. It only saves encoding: each use checks the stored
   * version.
   */
  readonly #known = new Map<string, KnownContainer>();

  constructor(store: Store, kind: ContainerKind<R, Draft>, reservation?: NameReservation) {
    this.#store = store;
    this.#kind = kind;
    this.#ids = new ContainerIds(store, kind.service);
    this.#reservations =
      reservation === undefined
        ? undefined
        : new NameReservations(store, kind.service, reservation);
  }

  async find(account: string, identity: string): Promise<R | undefined> {
    if (identity.length > identityLengthMax) return undefined;
    const entry = await this.#store.get(this.#nameKey(account, identity));
    return entry === undefined ? undefined : this.#decode(entry);
  }

  /**
   * Creates the record with a fresh id. Returns the existing record when the identity is taken.
   * Throws the refusal of a reservation of the name. `grows`: as of a commit.
   */
  async create(
    account: string,
    identity: string,
    make: (id: number) => Draft,
    { grows = true }: Pick<CommitBatch, 'grows'> = {},
  ): Promise<{ readonly created: boolean; readonly record: R }> {
    invariant(identity.length <= identityLengthMax, 'the name of a new container is too long');
    const key = this.#nameKey(account, identity);
    let id: number | undefined;
    return untilCommitted(attemptsMax, async () => {
      // Looked up first, because clients often create existing containers, and ids are not free.
      const entry = await this.#store.get(key);
      if (entry !== undefined) return { created: false, record: this.#decode(entry) };
      const held = await this.#reservations?.taken(account, identity);
      id ??= await this.#ids.next(account);
      const record = make(id);
      invariant(record.id === id, 'a new container has the id that was made for it');
      const value = this.#kind.encode(record);
      const result = await this.#store.commit({
        checks: [{ key, version: 'absent' }, ...(held?.checks ?? [])],
        puts: [{ key, value }],
        deletes: held?.deletes ?? [],
        grows,
      });
      if (!result.ok) return overtaken;
      return { created: true, record: this.#kind.decode(value, result.version) };
    });
  }

  /**
   * Replaces the record, keeping its id, and returns it as stored. `change` may throw, and may be
   * called several times. Undefined when there is no such container. `grows`: as of a commit.
   */
  update(
    account: string,
    identity: string,
    change: (record: R) => Draft,
    { grows = false }: Pick<CommitBatch, 'grows'> = {},
  ): Promise<R | undefined> {
    return this.#replace(account, identity, (entry) => {
      const { key } = entry;
      const old = this.#decode(entry);
      const record = change(old);
      invariant(record.id === old.id, 'an updated container keeps its id');
      const value = this.#kind.encode(record);
      return {
        puts: [{ key, value }],
        deletes: [],
        grows,
        result: (version) => this.#kind.decode(value, version),
      };
    });
  }

  /**
   * One commit. The name is free when it resolves, unless names are reserved. False when there was
   * no such container. `allow` is given the record to be dropped, throws the error that forbids
   * this, and may be called several times.
   */
  async drop(
    account: string,
    identity: string,
    allow?: (record: R) => void | Promise<void>,
  ): Promise<boolean> {
    const dropped = await this.#replace(account, identity, async (entry) => {
      await allow?.(this.#decode(entry));
      return {
        puts: [this.#dropped(account, entry), ...this.#held(account, identity)],
        deletes: [entry.key],
        result: () => true,
      };
    });
    return dropped ?? false;
  }

  /** The reservation for the name of a deleted container, where names are reserved. */
  #held(account: string, identity: string) {
    return this.#reservations === undefined ? [] : [this.#reservations.held(account, identity)];
  }

  /**
   * Deletes a container and keeps it, in one commit: its name is free, unless names are reserved,
   * and it can be restored for a time (`deletedContainersSweep`). `plan` returns the record to
   * keep, throws the error that forbids the deletion, and may be called several times. False when
   * there is no such container.
   */
  async keep(
    account: string,
    identity: string,
    deletion: SoftDeletion,
    plan: (record: R) => Draft | Promise<Draft>,
  ): Promise<boolean> {
    const kept = await this.#replace(account, identity, async (entry) => {
      const record = await plan(this.#decode(entry));
      const value = encodeDeleted(deletion, this.#kind.encode(record));
      const key = deletedContainerKey(this.#kind.service, account, { identity, id: record.id });
      const puts = [{ key, value }, ...this.#held(account, identity)];
      return { puts, deletes: [entry.key], result: () => true };
    });
    return kept ?? false;
  }

  /** Restores a soft-deleted container under its name. */
  async restore(
    account: string,
    { identity, id }: DeletedKey,
  ): Promise<'restored' | 'not found' | 'name taken'> {
    if (identity.length > identityLengthMax) return 'not found';
    const key = deletedContainerKey(this.#kind.service, account, { identity, id });
    const nameKey = this.#nameKey(account, identity);
    return untilCommitted(attemptsMax, async () => {
      const deleted = await this.#store.get(key);
      if (deleted === undefined) return 'not found';
      if ((await this.#store.get(nameKey)) !== undefined) return 'name taken';
      const { ok } = await this.#store.commit({
        checks: [
          { key, version: deleted.version },
          { key: nameKey, version: 'absent' },
        ],
        puts: [{ key: nameKey, value: decodeDeleted(deleted.value).record }],
        deletes: [key],
      });
      return ok ? 'restored' : overtaken;
    });
  }

  /**
   * One page of the deleted containers that are kept, by identity and then by id: those from `from`
   * on whose identity begins with `startsWith`.
   */
  async listDeleted(
    account: string,
    options: { readonly from?: DeletedKey; readonly startsWith?: string; readonly limit: number },
    memory?: MemoryBudget,
  ): Promise<DeletedPage<R>> {
    const { from, startsWith = '', limit } = options;
    const { service } = this.#kind;
    const prefix = deletedContainersPrefix(service, account);
    const wanted = stringRange(prefix, startsWith);
    const isBehind = from !== undefined && from.identity >= startsWith;
    const start = isBehind ? deletedContainerKey(service, account, from) : wanted.start;
    const { entries, last } = await this.#pageOf({ ...wanted, start }, { limit, memory });
    const containers = lazyList(entries, (entry) => this.#decodeDeleted(entry));
    return last === undefined
      ? { containers }
      : { containers, next: readDeletedKey(last.key, prefix) };
  }

  #decodeDeleted({ value, version }: Entry): DeletedContainer<R> {
    const { record, ...deleted } = decodeDeleted(value);
    return { record: this.#kind.decode(record, version), deleted };
  }

  /**
   * Empties a container in one commit: its name gets a fresh id, and the old id goes to the dropped
   * list. `change` makes the new record and may be called several times, with the same id.
   * Undefined when there is no such container.
   */
  replaceId(
    account: string,
    identity: string,
    change: (record: R, id: number) => Draft,
  ): Promise<R | undefined> {
    let id: number | undefined;
    return this.#replace(account, identity, async (entry) => {
      id ??= await this.#ids.next(account);
      const record = change(this.#decode(entry), id);
      invariant(record.id === id, 'an emptied container has the id that was made for it');
      const value = this.#kind.encode(record);
      return {
        puts: [{ key: entry.key, value }, this.#dropped(account, entry)],
        deletes: [],
        result: (version) => this.#kind.decode(value, version),
      };
    });
  }

  /**
   * The prefix of the container's content, for a name in any accepted spelling; undefined when
   * there is no such container. Takes one read, because any process may have dropped it; none when
   * the store tells at once that the container is the known one.
   */
  prefixOf(account: string, name: string): Bytes | Promise<Bytes | undefined> {
    const spelled = `${account}/${name}`;
    const known = this.#known.get(spelled);
    if (known !== undefined && hasInstantVersions(this.#store)) {
      if (this.#store.versionNow(known.key) === known.version) return known.prefix;
    }
    return this.#readPrefix(account, name, spelled);
  }

  async #readPrefix(account: string, name: string, spelled: string): Promise<Bytes | undefined> {
    const known = this.#known.get(spelled);
    const key = known?.key ?? this.#keyOfName(account, name);
    if (key === undefined) return undefined;
    const entry = await this.#store.get(key);
    if (entry === undefined) return undefined;
    if (known?.version === entry.version) return known.prefix;
    const id = this.#kind.idOf(entry.value);
    const prefix = containerPrefix(this.#kind.service, account, id);
    if (this.#known.size >= knownContainersMax) this.#known.clear();
    this.#known.set(spelled, { key, version: entry.version, prefix });
    return prefix;
  }

  /**
   * One page in order of identity: those from `from` on that begin with `startsWith`. It may have
   * fewer than `limit` records when they are long, and still a `next`.
   */
  list(
    account: string,
    options: { readonly from?: string; readonly startsWith?: string; readonly limit: number },
    memory?: MemoryBudget,
  ): Promise<ContainerPage<R>> {
    const { from = '', startsWith = '', limit } = options;
    const names = containerNamesPrefix(this.#kind.service, account);
    const wanted = stringRange(names, startsWith);
    const start = from > startsWith ? appendString(names, from) : wanted.start;
    return this.#page(names, { ...wanted, start }, { limit, memory });
  }

  /** One page of a range, in order of identity. With a `limit` of 0, only `next` is found. */
  range(
    account: string,
    { start, end }: IdentityRange,
    { limit, memory }: { readonly limit: number; readonly memory?: MemoryBudget | undefined },
  ): Promise<ContainerPage<R>> {
    const names = containerNamesPrefix(this.#kind.service, account);
    const from = { ...prefixRange(names), start: appendString(names, start) };
    const range = end === undefined ? from : { ...from, end: appendString(names, end) };
    return this.#page(names, range, { limit, memory });
  }

  /**
   * Every account with containers, in order, and the ids of its containers, in order of identity;
   * for housekeeping. Read in bounded pages, so there is no common snapshot.
   */
  async *all(): AsyncGenerator<{ readonly account: string; readonly id: number }> {
    for await (const account of accountsOf(this.#store, this.#kind.service)) {
      const names = containerNamesPrefix(this.#kind.service, account);
      for await (const { value } of entriesOf(this.#store, prefixRange(names))) {
        yield { account, id: this.#kind.idOf(value) };
      }
    }
  }

  async #page(
    names: Bytes,
    range: KeyRange,
    { limit, memory }: { readonly limit: number; readonly memory: MemoryBudget | undefined },
  ): Promise<ContainerPage<R>> {
    const { entries, last } = await this.#pageOf(range, { limit, memory });
    const records = lazyList(entries, (entry) => this.#decode(entry));
    return last === undefined ? { records } : { records, next: stringAt(last.key, names.length) };
  }

  /** The entries of a page, and the one that starts the next page. */
  async #pageOf(
    range: KeyRange,
    options: { readonly limit: number; readonly memory: MemoryBudget | undefined },
  ): Promise<{ readonly entries: readonly Entry[]; readonly last: Entry | undefined }> {
    const { entries, more } = await this.#entries(range, options);
    const last = entries.at(-1);
    const isLast = last === undefined || (!more && entries.length <= options.limit);
    return isLast ? { entries, last: undefined } : { entries: entries.slice(0, -1), last };
  }

  /** Reads one entry more than the page holds; it starts the next page. */
  async #entries(
    range: KeyRange,
    { limit, memory }: { readonly limit: number; readonly memory: MemoryBudget | undefined },
  ): Promise<RangePage> {
    const options = { limit: limit + 1, bytesMax: shortPageBytesMax };
    const short = await this.#store.range(range, options);
    if (!short.more || short.entries.length > limit) return short;
    // Waits before the read, so that a waiting request holds no data. All it reads then is from one
    // snapshot.
    await memory?.enter(pageBytesMax);
    const page = await this.#store.range(range, { ...options, bytesMax: pageBytesMax });
    memory?.hold(bytesOf(page.entries));
    return page;
  }

  /** Commits the plan for a directory entry, with a check that the entry is unchanged. */
  async #replace<T>(
    account: string,
    identity: string,
    plan: (entry: Entry) => Replacement<T> | Promise<Replacement<T>>,
  ): Promise<T | undefined> {
    if (identity.length > identityLengthMax) return undefined;
    const key = this.#nameKey(account, identity);
    return untilCommitted(attemptsMax, async () => {
      const entry = await this.#store.get(key);
      if (entry === undefined) return undefined;
      const { result, ...writes } = await plan(entry);
      const checks = [{ key, version: entry.version }];
      const committed = await this.#store.commit({ checks, ...writes });
      return committed.ok ? result(committed.version) : overtaken;
    });
  }

  /** The entry of the dropped list for a removed directory entry. */
  #dropped(account: string, { value }: Entry): { readonly key: Bytes; readonly value: Bytes } {
    const id = this.#kind.idOf(value);
    return { key: droppedContainerKey(this.#kind.service, account, id), value };
  }

  #keyOfName(account: string, name: string): Bytes | undefined {
    const { identityOf } = this.#kind;
    const identity = identityOf === undefined ? name : identityOf(name);
    if (identity === undefined || identity.length > identityLengthMax) return undefined;
    return this.#nameKey(account, identity);
  }

  #decode({ value, version }: Entry): R {
    return this.#kind.decode(value, version);
  }

  #nameKey(account: string, identity: string): Bytes {
    return containerNameKey(this.#kind.service, account, identity);
  }
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
}
