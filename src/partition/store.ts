import { InFlight } from '../base/async/in-flight.js';
import { compareBytes, type Bytes } from '../base/bytes.js';
import { backOff } from '../base/async/back-off.js';
import { sleep } from '../base/async/sleep.js';
import type { Timers } from '../base/async/timers.js';
import type { Clock } from '../base/clock.js';
import { invariant } from '../base/invariant.js';
import type { Randomness } from '../base/randomness.js';
import {
  GuardError,
  StoreClosedError,
  StoreFullError,
  StoreUnavailableError,
} from '../kv/errors.js';
import { assertBatch, assertKey, assertRangeOptions } from '../kv/limits.js';
import type { RangedStore } from '../kv/ranged-store.js';
import { counterBytes } from '../kv/counter.js';
import { isStoreKey } from '../kv/partition-prefix.js';
import type { GuardedBatch } from '../kv/guards.js';
import type { SizedKey } from '../kv/sized-keys.js';
import type {
  Candidate,
  CommitBatch,
  CommitResult,
  Decision,
  Entry,
  KeyRange,
  RangeOptions,
  RangePage,
} from '../kv/store.js';
import { Catalogue, ensureCatalogue } from './catalogue.js';
import { dirtyKey, layerKeys, storeKeys } from './keys.js';
import type { PartitionCounters } from './counters.js';
import { RangeMeter } from './load/range-meter.js';
import type { Members } from './members.js';
import { dataOf, sharedPart } from './range-map.js';
import { encodeDirtyKeys, type RangeRow } from './rows.js';
import { Routes, type Route } from './routes.js';

/**
 * The delays between attempts at a range that does not serve, in milliseconds. Each is a quarter of
 * the time that was waited so far: few attempts, and a call notices the end of a pause soon.
 */
const refusalDelayMs = { min: 5, max: 200, share: 0.25 } as const;
/** The longest time that a call waits for a range that does not serve, in milliseconds. */
const refusalMillisMax = 10_000;

export interface PartitionedStoreOptions {
  readonly members: Members;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /** Counts calls by range. Default: a meter of its own. */
  readonly meter?: RangeMeter;
  readonly counters?: PartitionCounters;
}

/**
 * Opens one key space over several stores. The first time, all data are in the home store. Closes
 * the members with itself.
 */
export async function openPartitionedStore(
  options: PartitionedStoreOptions,
): Promise<PartitionedStore> {
  const { members } = options;
  await ensureCatalogue(members);
  const catalogue = new Catalogue(members.home);
  return new PartitionedStore(
    options,
    new Routes(catalogue, members, await catalogue.map(), options.counters),
  );
}

/** What a call does, for the meter. */
interface RangeCall<Result> {
  readonly kind: 'read' | 'write';
  readonly key: Bytes;
  readonly bytesOf: (result: Result) => number;
  /** Whether the call may be made again after its store has failed; always when absent. */
  readonly mayRepeat?: () => boolean;
}

/** The entries of the keys of a `getMany` that are in one range, by their index. */
interface EntriesOfRange {
  readonly own: ReadonlySet<number>;
  readonly entries: readonly (Entry | undefined)[];
}

/** A part of an interval that is in one store. */
interface Piece {
  readonly within: KeyRange;
  /** The rest of the interval after this piece, in the direction of the read. */
  readonly rest: KeyRange | undefined;
  /** Undefined for keys of the store, which no guard protects. */
  readonly range: RangeRow | undefined;
}

/**
 * A store composed of several stores. Each of them has some ranges of partition prefixes, which
 * split, merge and move while they are in use; a call to a range that is being switched waits. Keys
 * of the store itself are in the home store. A commit may touch them together with data only while
 * the data are in the home store; otherwise it is refused.
 */
export class PartitionedStore implements RangedStore {
  readonly #options: PartitionedStoreOptions;
  readonly #routes: Routes;
  /** Identifies this front end in the keys of dirty rows. */
  readonly #frontEnd: string;
  #isClosed = false;
  readonly #meter: RangeMeter;
  readonly #calls = new InFlight();
  #loggedCommits = 0;

  constructor(options: PartitionedStoreOptions, routes: Routes) {
    this.#options = options;
    this.#routes = routes;
    this.#frontEnd = options.randomness.uuid();
    this.#meter = options.meter ?? new RangeMeter(options.randomness);
  }

  get(key: Bytes): Promise<Entry | undefined> {
    return this.#run(() => {
      assertKey(key);
      if (isStoreKey(key)) return this.#home.get(key);
      return this.#within(
        () => this.#rangeOf(key),
        { kind: 'read', key, bytesOf: bytesOfEntry },
        ({ store, guard }) => store.get(key, { guard }),
      );
    });
  }

  getMany(keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    return this.#run(async () => {
      for (const key of keys) assertKey(key);
      const found = keys.map((): Entry | undefined => undefined);
      let left = [...keys.keys()];
      while (left.length > 0) {
        const [first = 0] = left;
        const firstKey = keyAt(keys, first);
        if (isStoreKey(firstKey)) {
          const own = left.filter((index) => isStoreKey(keyAt(keys, index)));
          const entries = await this.#home.getMany(own.map((index) => keyAt(keys, index)));
          for (const [at, index] of own.entries()) found[index] = entries[at];
          left = left.filter((index) => !own.includes(index));
          continue;
        }
        // The range may change between attempts, so each of them selects the keys again.
        const taken = await this.#within(
          () => this.#rangeOf(firstKey),
          {
            kind: 'read',
            key: firstKey,
            bytesOf: ({ entries }: EntriesOfRange) => bytesOfEntries(entries),
          },
          async ({ range, store, guard }) => {
            const own = left.filter((index) => isWithin(keyAt(keys, index), range));
            const asked = own.map((index) => keyAt(keys, index));
            return { own: new Set(own), entries: await store.getMany(asked, { guard }) };
          },
        );
        for (const [at, index] of [...taken.own].entries()) found[index] = taken.entries[at];
        left = left.filter((index) => !taken.own.has(index));
      }
      return found;
    });
  }

  range(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    return this.#run(async () => {
      assertRangeOptions(options);
      let rest: KeyRange | undefined = range;
      while (rest !== undefined) {
        const { page, isEmpty, behind } = await this.#firstPage(rest, options);
        if (page.more) return page;
        rest = behind;
        // A page has one snapshot, so it ends with the range.
        if (!isEmpty) return rest === undefined ? page : this.#withMore(page, rest, options);
      }
      return { entries: [], more: false };
    });
  }

  /**
   * A guard in the batch is the caller's own; only data that stay in the home store may have one.
   */
  commit(batch: GuardedBatch): Promise<CommitResult> {
    return this.#run(() => {
      assertBatch(batch);
      const written = writtenKeys(batch);
      const keys = [...batch.checks, ...written].map(({ key }) => key);
      const first = keys.find((key) => !isStoreKey(key));
      if (first === undefined) return this.#home.commit(batch);
      if (batch.guard !== undefined) {
        const { members } = this.#options;
        invariant(members.isBound({ start: first }), 'data that stay in the home store');
        return members.home.commit(batch);
      }
      return this.#within(
        () => this.#rangeOf(first),
        { kind: 'write', key: first, bytesOf: () => bytesOfPuts(batch) },
        (route) => {
          for (const key of keys) this.#assertCommitted(key, route);
          const commit = () =>
            route.store.commit({
              ...batch,
              puts: route.logs ? [...batch.puts, this.#dirtyRow(route.range, written)] : batch.puts,
              guard: route.guard,
            });
          const growth = batch.grows === true ? this.#growth(route.range) : undefined;
          return growth === undefined ? commit() : growth.then(commit);
        },
      );
    });
  }

  rangesIn(interval: KeyRange): readonly number[] {
    return this.#routes.within(interval).map(({ id }) => id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#calls.none();
    await Promise.all(this.#options.members.all.map((store) => store.close()));
  }

  get #home() {
    return this.#options.members.home;
  }

  async #run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new StoreClosedError();
    return this.#calls.during(call);
  }

  /** Whoever writes data that stay in the home store looks at its disk before. */
  #growth(range: RangeRow): Promise<void> | undefined {
    const { members } = this.#options;
    return members.isBound(range) ? undefined : members.growth(range.store);
  }

  #rangeOf(key: Bytes): RangeRow {
    const isData = compareBytes(key, storeKeys.start) < 0;
    invariant(isData, "the service of a key sorts before '~'");
    return this.#routes.at(key);
  }

  #assertCommitted(key: Bytes, { range }: Route): void {
    if (!isStoreKey(key)) {
      invariant(isWithin(key, range), 'a commit touches one partition prefix');
      return;
    }
    if (range.store === this.#options.members.homeName) return;
    const where = `the store '${range.store}' has the data, '${this.#options.members.homeName}'`;
    throw new StoreUnavailableError(
      `A commit touches keys of the store beside data, and ${where} the keys of the store.`,
    );
  }

  /**
   * Calls the store of a range. When that store does not serve the range, reads the catalogue,
   * tries again and waits, up to `refusalMillisMax`. When it does not answer, or its disk is full,
   * tries again once if the catalogue says that another store has the range by now.
   */
  async #within<Result>(
    find: () => RangeRow,
    { kind, key, bytesOf, mayRepeat = () => true }: RangeCall<Result>,
    call: (route: Route) => Promise<Result>,
  ): Promise<Result> {
    const { clock, timers, randomness } = this.#options;
    let waitedFrom: number | undefined;
    let isSuspect = false;
    let isLookedUp = false;
    /** Rethrows the error of a store, unless the range has left that store. */
    const leave = async (range: RangeRow, error: unknown): Promise<void> => {
      // The home store has the catalogue, so it cannot be asked where its own range is when it does
      // not answer.
      const isHome = range.store === this.#options.members.homeName;
      const isAway = error instanceof StoreUnavailableError && !isHome && mayRepeat();
      const isFull = error instanceof StoreFullError;
      if (isLookedUp || !(isAway || isFull)) throw error;
      isLookedUp = true;
      if (!(await this.#routes.isElsewhere(range))) throw error;
      isSuspect = true;
    };
    for (;;) {
      const range = find();
      const route = this.#routes.route(range);
      if (isUsable(route, kind)) {
        try {
          const beganMs = clock.monotonicMs();
          const result = await call(route);
          const tookMs = clock.monotonicMs() - beganMs;
          this.#meter.note(route.range, { kind, key, bytes: bytesOf(result), tookMs });
          return result;
        } catch (error) {
          if (!this.#isOutdated(route, error)) await leave(route.range, error);
          else if (this.#options.counters !== undefined) this.#options.counters.guardRefusals += 1;
          this.#routes.forget(route);
          isSuspect = true;
          continue;
        }
      }
      const isOpen = this.#options.members.has(range.store);
      try {
        await (isSuspect || !isOpen ? this.#routes.refresh(range) : this.#routes.learn(range));
      } catch (error) {
        await leave(range, error);
        continue;
      }
      const now = find();
      const isAnother = now.id !== range.id;
      if (isAnother || !isSuspect || isUsable(this.#routes.route(now), kind)) {
        // A successor is first tried in the store that the map gives.
        isSuspect = !isAnother;
        continue;
      }
      const nowMs = clock.monotonicMs();
      waitedFrom ??= nowMs;
      if (nowMs - waitedFrom > refusalMillisMax) {
        const waited = `${refusalMillisMax / 1000} seconds`;
        throw new StoreUnavailableError(`A range of keys did not serve for ${waited}.`);
      }
      const delayMs = Math.max(refusalDelayMs.min, (nowMs - waitedFrom) * refusalDelayMs.share);
      const delays = { first: delayMs, last: refusalDelayMs.max };
      await sleep(timers, backOff(delays, 1, randomness));
    }
  }

  /** Whether a call has failed because its store does not serve the range, or was taken out. */
  #isOutdated({ range, store }: Route, error: unknown): boolean {
    if (error instanceof GuardError) return true;
    const { members } = this.#options;
    const isMember = members.has(range.store) && members.named(range.store) === store;
    return error instanceof StoreClosedError && !isMember;
  }

  /**
   * Reads a page of the first piece of an interval. Also returns the rest of the interval after
   * that piece.
   */
  async #firstPage(interval: KeyRange, options: RangeOptions) {
    const find = () => this.#pieceOf(interval, options.reverse === true);
    const observed = new ObservedFilter(options);
    const piece = find();
    if (piece === undefined) return { page: emptyPage, isEmpty: true, behind: undefined };
    const { within, rest, range } = piece;
    if (range === undefined) {
      const page = await this.#home.range(within, observed.options);
      return { page, isEmpty: observed.isEmpty(page), behind: rest };
    }
    const read = async (route: Route) => {
      const { store, guard } = route;
      // Ranges may have split or merged while the call waited.
      const now = find() ?? piece;
      try {
        const page = await store.range(now.within, { ...observed.options, guard });
        return { page, isEmpty: observed.isEmpty(page), behind: now.rest };
      } catch (error) {
        // The caller's filter may have side effects, so it must not see the same entries twice.
        if (!observed.hasBegun || !this.#isOutdated(route, error)) throw error;
        throw new StoreUnavailableError('A range of keys moved while it was read.', {
          cause: error,
        });
      }
    };
    const kind = 'read' as const;
    const bytesOf = ({ page }: { page: RangePage }) =>
      bytesOfEntries(page.entries) + observed.usedBytes;
    const mayRepeat = () => !observed.hasBegun;
    const observedCall = { kind, key: within.start, bytesOf, mayRepeat };
    return this.#within(() => find()?.range ?? range, observedCall, read);
  }

  /** Returns the page with `more` set exactly, by looking for an entry after it. */
  async #withMore(page: RangePage, behind: KeyRange, options: RangeOptions): Promise<RangePage> {
    const peek: RangeOptions = {
      limit: 1,
      bytesMax: 0,
      reverse: options.reverse === true,
      filter: () => 'stop',
    };
    for (let rest: KeyRange | undefined = behind; rest !== undefined;) {
      const found = await this.#firstPage(rest, peek);
      if (found.page.more) return { ...page, more: true };
      rest = found.behind;
    }
    return page;
  }

  /** The first piece of an interval, or the last of one that is read in reverse. */
  #pieceOf(interval: KeyRange, reverse: boolean): Piece | undefined {
    for (const zone of reverse ? zones.toReversed() : zones) {
      const part = sharedPart(interval, zone);
      if (part === undefined) continue;
      const range = zone === dataZone ? this.#rangeAtEdge(part, reverse) : undefined;
      const within = range === undefined ? part : sharedPart(part, dataOf(range));
      invariant(within !== undefined, 'a range has the keys that it was found by');
      return { within, rest: behind(within, interval, reverse), range };
    }
    return undefined;
  }

  #rangeAtEdge({ start, end }: KeyRange, reverse: boolean): RangeRow {
    return reverse ? this.#routes.before(end ?? storeKeys.start) : this.#routes.at(start);
  }

  #dirtyRow(range: RangeRow, written: readonly SizedKey[]) {
    this.#loggedCommits += 1;
    const key = dirtyKey(range.id, this.#frontEnd, this.#loggedCommits);
    return { key, value: encodeDirtyKeys(written.filter((each) => !isStoreKey(each.key))) };
  }
}

/** The options of a read, whose filter notes what it was asked and what it decided. */
class ObservedFilter {
  readonly options: RangeOptions;
  /** Whether the filter was asked. */
  hasBegun = false;
  /** Bytes of values that were used; the page itself counts those that are taken. */
  usedBytes = 0;
  #isUsed = false;

  constructor(options: RangeOptions) {
    const { filter } = options;
    this.options =
      filter === undefined
        ? options
        : { ...options, filter: (candidate) => this.#ask(filter, candidate) };
  }

  /** Whether nothing of the page was taken or used. */
  isEmpty({ entries }: RangePage): boolean {
    return !this.#isUsed && entries.length === 0;
  }

  #ask(filter: NonNullable<RangeOptions['filter']>, candidate: Candidate): Decision {
    this.hasBegun = true;
    const decision = filter(candidate);
    if (decision === 'take' || decision === 'use') this.#isUsed = true;
    if (decision === 'use') this.usedBytes += candidate.valueLength;
    return decision;
  }
}

function writtenKeys({ puts, deletes, adds = [] }: CommitBatch): readonly SizedKey[] {
  return [
    ...puts.map(({ key, value }) => ({ key, valueBytes: value.length })),
    ...deletes.map((key) => ({ key, valueBytes: 0 })),
    ...adds.map(({ key }) => ({ key, valueBytes: counterBytes })),
  ];
}

function bytesOfEntry(entry: Entry | undefined): number {
  return entry === undefined ? 0 : entry.key.length + entry.value.length;
}

function bytesOfEntries(entries: readonly (Entry | undefined)[]): number {
  return entries.reduce((sum, entry) => sum + bytesOfEntry(entry), 0);
}

function bytesOfPuts({ puts }: CommitBatch): number {
  return puts.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
}

function isUsable(route: Route | undefined, kind: 'read' | 'write'): route is Route {
  return route !== undefined && (kind === 'read' || route.takesWrites);
}

function isWithin(key: Bytes, { start, end }: RangeRow): boolean {
  if (isStoreKey(key) || compareBytes(key, start) < 0) return false;
  return end === undefined || compareBytes(key, end) < 0;
}

/** The rest of an interval after reading a part at its beginning. */
function behind(part: KeyRange, interval: KeyRange, reverse: boolean): KeyRange | undefined {
  if (reverse) return sharedPart(interval, { start: noBytes, end: part.start });
  return part.end && sharedPart(interval, { start: part.end });
}

function keyAt(keys: readonly Bytes[], index: number): Bytes {
  const key = keys[index];
  invariant(key !== undefined, 'the index of a key that was asked for');
  return key;
}

const noBytes: Bytes = Buffer.alloc(0);

const dataZone: KeyRange = { start: noBytes, end: storeKeys.start };
/**
 * The keys that callers see, in key order: data, and keys of the store without those of this layer.
 */
const zones: readonly KeyRange[] = [
  dataZone,
  { start: storeKeys.start, end: layerKeys.start },
  { start: layerKeys.end ?? storeKeys.start },
];
const emptyPage: RangePage = { entries: [], more: false };
