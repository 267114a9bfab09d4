import type { Clock } from '../../../base/clock.js';
import { backOff } from '../../../base/async/back-off.js';
import { backOffs } from '../../table/back-offs.js';
import type { Randomness } from '../../../base/randomness.js';
import { messageOf } from '../../../base/thrown.js';
import { sleep } from '../../../base/async/sleep.js';
import type { Timers } from '../../../base/async/timers.js';
import { ModelError } from '../../rows/model-error.js';
import { isConflictOrLost, retryConflicts } from '../../table/contention.js';
import { RequestError } from '../../table/errors.js';
import {
  keyOfWrite,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import {
  type Claim,
  claimOf,
  claimPartition,
  closePartition,
  epochOf,
  isClaimLost,
  isOwned,
  writeIfOwned,
} from './fence.js';
import {
  accessOf,
  isSameRoute,
  routeOf,
  type ClosedAccess,
  type MapState,
  type Route,
} from './map-state.js';
import { copyPartition } from './partition-copy.js';
import { PartitionHomes } from './partition-homes.js';
import { PartitionClosedError, UnknownShardError } from './shard-errors.js';
import { leadingOf, requireBound } from './shard-binding.js';
import { ShardLooks } from './shard-looks.js';
import type { RequireWhole } from './shard-map-options.js';
import type { RoutedPartitions } from './sharded-table.js';
import type { StoredMap } from './stored-map.js';

export interface PartitionsOptions {
  readonly map: StoredMap;
  readonly shards: ReadonlyMap<string, TableGateway>;
  /** Returns the part of a PartitionKey that is routed. */
  readonly textOf: (partitionKey: string) => string;
  readonly requireWhole: RequireWhole;
  readonly readsOwned: boolean;
  readonly refreshMs: number;
  readonly takeOverMs: number;
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

interface SettleOptions {
  /** Whether the former shard is closed in any case. */
  readonly closes?: boolean;
  /** Whether a write waits for it, whose program is not told how a restore ends. */
  readonly isForWrite?: boolean;
}

/** The result of bringing a partition to its shard. */
export interface Settled {
  /** Whether it was opened there now. */
  readonly isOpened: boolean;
  /** Rows that were copied for it. */
  readonly copied: number;
}

/** An attempt is based on a map or an owner that counts no more: start again. */
class OutdatedAttemptError extends ModelError {
  override readonly name = 'OutdatedAttemptError';
}

/** A handover waits until a shard has all of its rows; `cause` says which. */
class NotWholeError extends ModelError {
  override readonly name = 'NotWholeError';
}

/** The partitions of a map: finds them, and brings them to their shards. */
export class Partitions implements RoutedPartitions {
  /** Each transaction has the owner row as well. */
  readonly ownWrites = 1;
  /** A point read of the shard, and one of the map where the shard does not own the partition. */
  readonly confirm: TableGateway['confirm'];
  readonly #options: PartitionsOptions;
  readonly #looks: ShardLooks;

  constructor(options: PartitionsOptions) {
    this.#options = options;
    const { map, clock, refreshMs, readsOwned } = options;
    this.#looks = new ShardLooks({ title: map.title, clock, refreshMs });
    if (readsOwned) return;
    this.confirm = async (partitionKey) => {
      const found = await this.readableBy(await map.known(), partitionKey);
      if (!(await isOwned(found, partitionKey))) await map.fresh();
    };
  }

  /** Throws `UnknownShardError` for a shard without a table in this program. */
  shard(name: string | undefined, partitionKey?: string): TableGateway {
    const table = name === undefined ? undefined : this.#options.shards.get(name);
    if (table !== undefined) return table;
    const { map } = this.#options;
    throw name === undefined
      ? new UnknownShardError(
          `${map.title} has no shard for '${partitionKey}'; assign its text to one, or ` +
            'give the list a shard for all others (otherwise)',
          name,
        )
      : new UnknownShardError(
          `${map.title} has a shard '${name}' that this program has no table for`,
          name,
        );
  }

  textOf(partitionKey: string): string {
    return this.#options.textOf(partitionKey);
  }

  route(state: MapState, partitionKey: string): Route {
    return routeOf(state, this.textOf(partitionKey));
  }

  async writeOne(write: RowWrite): Promise<WriteResult> {
    const [result] = await this.write(keyOfWrite(write).partitionKey, [write]);
    return { etag: result?.etag };
  }

  /**
   * Executes writes of one partition in one transaction, on the shard that accepts its writes. With
   * a current map one transaction; two during handovers.
   */
  async write(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const { map, clock, patienceMs } = this.#options;
    const beganMs = clock.monotonicMs();
    const watch = new ClaimWatch(this.#options);
    let state = await map.known();
    for (let failures = 1; ;) {
      this.#refuseClosed(state, partitionKey, ['read-only', 'offline']);
      const route = this.route(state, partitionKey);
      const result = await this.#writeBy(route, partitionKey, writes);
      if (typeof result !== 'string') return result;
      const fresh = await map.fresh();
      const isStale = fresh.version !== state.version;
      state = fresh;
      if (isStale) continue;
      if (clock.monotonicMs() - beganMs > patienceMs) {
        throw new PartitionClosedError(
          `'${partitionKey}' was being handed over for longer than ${patienceMs} ms; try again`,
        );
      }
      const isWaiting =
        result === 'contended' || (await this.#isAtWork(route, partitionKey, watch));
      if (!isWaiting) await this.settle(partitionKey, { isForWrite: true });
      else await this.#pause(failures++);
    }
  }

  /**
   * The shard to read a partition from. Sends nothing unless handovers are under way, or reads
   * check ownership.
   */
  async readable(partitionKey: string): Promise<TableGateway> {
    const { map, readsOwned } = this.#options;
    const found = await this.readableBy(await map.known(), partitionKey);
    return readsOwned ? this.confirmed(found, partitionKey) : found;
  }

  /** The given shard if it owns the partition, otherwise the shard of the current map. */
  async confirmed(shard: TableGateway, partitionKey: string): Promise<TableGateway> {
    if (await isOwned(shard, partitionKey)) return shard;
    const { map, readsOwned } = this.#options;
    return this.readableBy(readsOwned ? await map.fresh() : await map.current(), partitionKey);
  }

  /** Sends two point reads while partitions are handed over. */
  async readableBy(state: MapState, partitionKey: string): Promise<TableGateway> {
    const route = this.#readRoute(state, partitionKey);
    return this.shard(await this.#decide(route, partitionKey), partitionKey);
  }

  homes(state: MapState): PartitionHomes {
    return new PartitionHomes({
      route: (partitionKey) => this.#readRoute(state, partitionKey),
      decide: (route, partitionKey) => this.#decide(route, partitionKey),
    });
  }

  #readRoute(state: MapState, partitionKey: string): Route {
    this.#refuseClosed(state, partitionKey, ['offline']);
    return this.route(state, partitionKey);
  }

  /** The shard with the current rows. Two point reads when either of two may have them. */
  async #decide(route: Route, partitionKey: string): Promise<string | undefined> {
    const { home, before } = route;
    if (before === undefined) return home;
    const [to, from] = [this.shard(home, partitionKey), this.shard(before, partitionKey)];
    const [own, other] = await epochs(to, from, partitionKey);
    return isDecidedBefore(route, own, other) ? before : home;
  }

  /**
   * Brings a partition to its shard by the map, and opens it there. Any number of programs at once,
   * killed or not, do this once.
   */
  settle(
    partitionKey: string,
    { closes = false, isForWrite = false }: SettleOptions = {},
  ): Promise<Settled> {
    const { map } = this.#options;
    const watch = new ClaimWatch(this.#options);
    let isOvertaken = false;
    const attempt = async (): Promise<Settled> => {
      const guess = this.route(await map.known(), partitionKey);
      const home = this.shard(guess.home, partitionKey);
      // An overtaken program waits for the other one; otherwise they would alternate for ever.
      if (isOvertaken) await this.#untilIdle(home, partitionKey, watch);
      const claim = await claimPartition(home, partitionKey);
      // Read after the claim: a later change of the map finds the claim.
      const state = await map.fresh();
      if (accessOf(state, this.textOf(partitionKey)) !== undefined) await claim?.release();
      this.#refuseClosed(state, partitionKey, ['read-only', 'offline']);
      const route = this.route(state, partitionKey);
      if (!isSameRoute(guess, route)) {
        await claim?.release();
        throw new OutdatedAttemptError(`${map.title} has changed`);
      }
      if (route.before === undefined) {
        if (claim === undefined) return { isOpened: false, copied: 0 };
        await this.#open(claim, route, state, (await epochOf(home, partitionKey)) + 1);
        return { isOpened: true, copied: 0 };
      }
      const before = this.shard(route.before, partitionKey);
      if (claim === undefined && !closes) return { isOpened: false, copied: 0 };
      const requireBoth = (): Promise<void> => this.#requireBoth(state, route, claim);
      await requireBoth();
      if (claim === undefined) {
        if (isOfOperation(state)) await this.#refuseRestored(home, before, partitionKey);
        await closePartition(before, partitionKey, this.#options);
        return { isOpened: false, copied: 0 };
      }
      await closePartition(before, partitionKey, this.#options);
      const [own, other] = await epochs(home, before, partitionKey);
      const isCopied = isDecidedBefore(route, own, other);
      const copied = isCopied ? await copyPartition(before, claim, requireBoth) : 0;
      // Once more: what was read may be a part of a backup, whose restore began meanwhile.
      await requireBoth();
      await this.#open(claim, route, state, Math.max(own, other) + 1);
      return { isOpened: true, copied };
    };
    return this.untilDone(`opening '${partitionKey}'`, async () => {
      try {
        return await attempt();
      } catch (error) {
        isOvertaken = isClaimLost(error);
        if (!(error instanceof NotWholeError)) throw error;
        if (!isForWrite) throw error.cause;
        throw new PartitionClosedError(
          `'${partitionKey}' is not handed over while ${map.title} waits for a restore; try again ` +
            `then: ${error.message}`,
          { cause: error.cause },
        );
      }
    });
  }

  /**
   * Throws where the rows of a handover are not all there: as `requireWhole`, of both shards, and
   * as `requireBound`, of the former one. Leaves no claim then.
   */
  async #requireBoth(
    state: MapState,
    { home, before }: Route,
    claim: Claim | undefined,
  ): Promise<void> {
    const { map, requireWhole } = this.#options;
    try {
      if (isOfOperation(state) && before !== undefined) {
        const led = { shard: before, title: map.title, ...leadingOf(state) };
        await requireBound(this.shard(before), led);
      }
      await requireWhole([home, before]);
    } catch (error) {
      await claim?.release();
      throw error instanceof RequestError
        ? error
        : new NotWholeError(messageOf(error), { cause: error });
    }
  }

  /** Throws `ModelError` where the account of the shard was emptied, and leaves no claim then. */
  async #open(claim: Claim, { home }: Route, state: MapState, epoch: number): Promise<void> {
    const { partitionKey, table } = claim;
    const opened = { shard: home ?? '', table, partitionKey, text: this.textOf(partitionKey) };
    try {
      await this.#looks.require(opened, state);
    } catch (error) {
      await claim.release();
      const { map } = this.#options;
      if ((await map.fresh()).version === state.version) throw error;
      throw new OutdatedAttemptError(`${map.title} has changed`, { cause: error });
    }
    await claim.open(epoch);
    await this.#looks.note(opened, state);
  }

  /**
   * A shard that was restored from before a handover owns the partitions that it had then. It is
   * closed when the other shard knows a later handover, so that the next attempt copies from there.
   * Late, this closes a partition whose epoch is the latest: the next write opens it again.
   */
  async #refuseRestored(
    home: TableGateway,
    before: TableGateway,
    partitionKey: string,
  ): Promise<void> {
    const [own, other] = await epochs(home, before, partitionKey);
    if (other <= own) return;
    await closePartition(home, partitionKey, this.#options);
    throw new OutdatedAttemptError(
      `'${partitionKey}' in ${home.table} is from before its last handover`,
    );
  }

  /** Repeats an attempt while its claim is lost, the map changes or responses are lost. */
  untilDone<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const isOvertaken = (error: unknown): boolean =>
      isClaimLost(error) || error instanceof OutdatedAttemptError || isConflictOrLost(error);
    return retryConflicts(what, this.#options, attempt, isOvertaken);
  }

  #refuseClosed(state: MapState, partitionKey: string, refused: readonly ClosedAccess[]): void {
    const access = accessOf(state, this.textOf(partitionKey));
    if (access === undefined || !refused.includes(access)) return;
    throw new PartitionClosedError(
      `'${partitionKey}' is ${access} while ${this.#options.map.title} moves it; try ` +
        'again when it is done',
    );
  }

  async #writeBy(
    { home, before }: Route,
    partitionKey: string,
    writes: readonly RowWrite[],
  ): ReturnType<typeof writeIfOwned> {
    const result = await writeIfOwned(this.shard(home, partitionKey), partitionKey, writes);
    if (result !== 'closed' || before === undefined) return result;
    return writeIfOwned(this.shard(before, partitionKey), partitionKey, writes);
  }

  /** True when another program is handing the partition over and must not be disturbed. */
  async #isAtWork(
    { home, before }: Route,
    partitionKey: string,
    watch: ClaimWatch,
  ): Promise<boolean> {
    if (before === undefined) return false;
    return watch.isLively(await claimOf(this.shard(home, partitionKey), partitionKey));
  }

  async #untilIdle(home: TableGateway, partitionKey: string, watch: ClaimWatch): Promise<void> {
    for (let looks = 1; watch.isLively(await claimOf(home, partitionKey)); looks++) {
      await this.#pause(looks);
    }
  }

  #pause(failures: number): Promise<void> {
    const { timers, randomness } = this.#options;
    return sleep(timers, backOff(backOffs.handOver, failures, randomness));
  }
}

/** Distinguishes an active claim from an abandoned one. Safety does not depend on it. */
class ClaimWatch {
  readonly #options: Pick<PartitionsOptions, 'clock' | 'takeOverMs'>;
  #etag: string | undefined;
  #sinceMs = 0;

  constructor(options: Pick<PartitionsOptions, 'clock' | 'takeOverMs'>) {
    this.#options = options;
  }

  isLively(etag: string | undefined): boolean {
    if (etag === undefined) return false;
    const nowMs = this.#options.clock.monotonicMs();
    if (etag !== this.#etag) {
      this.#etag = etag;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs < this.#options.takeOverMs;
  }
}

function epochs(
  home: TableGateway,
  before: TableGateway,
  partitionKey: string,
): Promise<[number, number]> {
  return Promise.all([epochOf(home, partitionKey), epochOf(before, partitionKey)]);
}

/** A change without one may be a recovery, which has said itself which side counts. */
function isOfOperation(state: MapState): boolean {
  return state.phase !== 'settled' && state.operation !== undefined;
}

/** Whether the rows of the former shard are the current ones. */
function isDecidedBefore({ before, first }: Route, own: number, other: number): boolean {
  return other === own ? first === before : other > own;
}
