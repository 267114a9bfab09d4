import type { Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import { messageOf } from '../../../base/thrown.js';
import { concernedShards, losingShards } from '../../../placement/losing-shards.js';
import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import type { ShardKeyType } from '../../../placement/typed-routing.js';
import { requireChoice } from '../../definition/choice.js';
import { isoOfTicks, ticksOfMicros } from '../../rows/ticks.js';
import { allRows } from '../../table/all-rows.js';
import type { TableGateway } from '../../table/gateway.js';
import { ownTypeProperty } from '../shard-map/fence.js';
import { howToKeep, leadingOf, requireBound } from '../shard-map/shard-binding.js';
import { sameRouting } from '../shard-map/map-row.js';
import type { MapState } from '../shard-map/map-state.js';
import { requirePace, type ShardReport, type WalkOptions } from '../shard-map/partition-walk.js';
import type { RoutingChange } from '../shard-map/routing-changes.js';
import type { ShardMap } from '../shard-map/shard-map.js';
import { StaleMapError } from '../shard-map/shard-errors.js';
import { isContent } from '../shard-map/shown-rows.js';
import { giveUpInOperation } from './giving-up.js';
import { ManagerError, OperationError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';
import {
  operationOf,
  textsOfOperation,
  type Operation,
  type OperationChange,
  type OperationMode,
  type OperationStep,
} from './operation-record.js';
import type { ShardKeyText } from './map-schema.js';
import { isEnded, isFinished, isUnderWay, ProgressLog, rowsLeft } from './operation-progress.js';
import { refuseAnyRestoring } from './restoring-shards.js';
import type { ShardInfo } from './shard-statuses.js';

export interface BeginOptions {
  /** For people who read the list of operations. */
  readonly title: string;
  /** `online` when absent. */
  readonly mode?: OperationMode;
  /**
   * `empty`, when absent: refuses when a shard has rows already of what would come to it, such as
   * those that an earlier move has left. `replaced`: they are replaced.
   */
  readonly target?: 'empty' | 'replaced';
}

export interface RunOptions extends Pick<WalkOptions, 'concurrency' | 'signal'> {
  /** Whether rows that have moved are deleted from their former shards; true when absent. */
  readonly cleanUp?: boolean;
  readonly onProgress?: (operation: Operation) => void;
}

export interface MapOperationsOptions {
  readonly name: string;
  readonly rows: ManagerRows;
  /** The map over tables whose shards are used whatever their status. */
  readonly map: ShardMap;
  /** The same map as this program reads and writes by it. */
  readonly followed: Pick<ShardMap, 'state'>;
  readonly textOf: (partitionKey: string) => string;
  readonly tableOf: (shard: string) => TableGateway;
  readonly shards: () => Promise<readonly ShardInfo[]>;
  /** Makes the tables that the map lacks on a shard. */
  readonly createTables: (shard: string) => Promise<void>;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/**
 * Changes of one map that have an id, a status that everybody can read, and an end: each is begun
 * once, run until it ends, by any program and as often as it is stopped, or cancelled. The map
 * itself has the progress of an operation; the row of the operation only shows it.
 */
export class MapOperations<T extends ShardKeyType = ShardKeyType> {
  readonly #options: MapOperationsOptions;

  constructor(options: MapOperationsOptions) {
    this.#options = options;
  }

  /**
   * Plans a change, checks its shards, and begins it; moves nothing yet. Throws `StaleMapError`
   * while another change is under way, `DefinitionError` for a text that is not that of a key,
   * `UnknownShardError` for a shard that this program has no location of, `ModelError` for one of
   * the map that partitions would leave or reach and whose account was emptied, and `ManagerError`
   * for a change after which the map is as before, for shards that are not online or not empty,
   * and where partitions would leave a shard whose restore has not ended. Range reads of shards and
   * the control table, point reads of the map, a write, and the requests of `ShardMap.start`.
   */
  begin(
    change: ShardRouting | RoutingChange<ShardKeyText<T>>,
    options: BeginOptions,
  ): Promise<Operation> {
    return this.#followed(this.#begin(change, options));
  }

  async #begin(change: ShardRouting | RoutingChange, options: BeginOptions): Promise<Operation> {
    const { name, rows, map, randomness } = this.#options;
    const { title, mode = 'online', target = 'empty' } = options;
    requireChoice('mode', mode, ['online', 'read-only', 'offline']);
    requireChoice('target', target, ['empty', 'replaced']);
    await this.#takeBackCancelled();
    await this.#requireSettled();
    const plan = await map.plan(change);
    const state = await map.state();
    this.#refuseUnchanged(change, state.routing, plan.target);
    await this.#requireOnline(plan.target);
    const left = losingShards(state.routing, plan.target);
    await refuseAnyRestoring(rows, left);
    const used = shardsOf(state.routing);
    const got = losingShards(plan.target, state.routing).filter((shard) => used.includes(shard));
    await this.#requireAllBound(state, [...left, ...got], howToKeep);
    if (target === 'empty') await this.#requireEmpty(state.routing, plan.target);
    const id = randomness.uuid();
    const now = this.#now();
    const operation: Omit<Operation, 'id' | 'percent'> = {
      map: name,
      title,
      mode,
      status: 'running',
      step: 'begun',
      partitions: 0,
      of: plan.moves.reduce((sum, { partitions }) => sum + partitions, 0),
      details: '',
      lost: [],
      begunAt: now,
      changedAt: now,
    };
    await this.#endLast(state);
    // The row comes first: a program that finds the change in the map finds how to make it.
    await rows.put('operation', id, textsOfOperation(operation), undefined);
    try {
      const begun = await map.start(plan, { operation: id });
      if (isUnderWay(begun, id)) return await this.#begun(id);
      throw new OperationError(`another operation makes the same change of the map '${name}'`);
    } catch (error) {
      const details = messageOf(error);
      if (!isUnderWay(await map.state(), id)) {
        await this.#change(id, { status: 'cancelled', step: 'ended', details });
      }
      throw error;
    }
  }

  /**
   * Runs an operation to its end, from where it was left; one that has ended is returned as it is.
   * An error that stops it is thrown and noted, and the next run goes on. An operation that was
   * cancelled meanwhile is taken back. With `mode` closed, an operation whose copies differ stops
   * with `OperationError`. One whose partitions leave or reach a shard into which a restore has
   * begun meanwhile stops before its next step, with `ManagerError`: the shard has a part of its
   * rows, or gets those of the backup over newer ones. One of which such a shard was emptied stops
   * with `ModelError`, before its next step or the handover of the next partition.
   */
  run(id: string, options: RunOptions = {}): Promise<Operation> {
    return this.#followed(this.#run(id, options));
  }

  async #run(id: string, options: RunOptions): Promise<Operation> {
    requirePace(options);
    const found = operationOf(await this.#read(id));
    if (found.status === 'cancelled') await this.#takeBack(id);
    if (isEnded(found)) return found;
    if (found.status === 'stopped') await this.#change(id, { status: 'running', details: '' });
    try {
      return await this.#runOn(id, found.mode, options);
    } catch (error) {
      const { status } = operationOf(await this.#read(id));
      // A cancellation changes the phase while the steps of a run go on.
      if (status === 'cancelled') return operationOf(await this.#read(id));
      if (status === 'cancelling') return this.#cancel(id);
      await this.#change(id, { status: 'stopped', details: messageOf(error) });
      throw error;
    }
  }

  /**
   * Takes an operation back, with everything written since; a run of another program ends with it.
   * Resumed by another call, or by `run`. Throws `OperationError` for one that has gone through,
   * and `ManagerError` for one that has begun to hand partitions over while a restore into one of
   * its shards has not ended: end that first.
   */
  cancel(id: string): Promise<Operation> {
    return this.#followed(this.#cancel(id));
  }

  async #cancel(id: string): Promise<Operation> {
    const { map } = this.#options;
    const found = operationOf(await this.#read(id));
    if (found.status === 'cancelled') {
      await this.#takeBack(id);
      return found;
    }
    const state = await map.state();
    if (isFinished(state, id) || found.status === 'completed') {
      throw new OperationError(
        `the operation ${id} has gone through; begin one that moves things back`,
      );
    }
    if (isUnderWay(state, id)) await this.#requireReturnable(state);
    await this.#change(id, { status: 'cancelling' });
    await this.#takeBack(id);
    if (isFinished(await map.state(), id)) {
      await this.#change(id, { status: 'running' });
      throw new OperationError(`the operation ${id} went through before it was cancelled`);
    }
    return this.#change(id, { status: 'cancelled', step: 'ended', details: 'taken back' });
  }

  /**
   * Lets an operation under way go on without what a shard had whose account is gone for good; then
   * `run` it, or `cancel` it where the shard was only to get something. The shard is detached, and
   * has an empty account under its name; makes the tables of the map there. Does nothing for a
   * shard whose table knows the map. Of partitions that were to leave the shard and were not handed
   * over, what was copied counts, and everything else is lost: rows that were not copied, and what
   * was written since. So the operation goes on from there, also one that was being taken back. Of
   * partitions that the shard had got, their former shards have the rows as they were handed over,
   * and these count. Throws `OperationError` for an operation that is not under way or has nothing
   * to do with the shard, `ManagerError` for a shard that is not detached and while a restore into
   * it has not ended, and `ModelError`, before anything is changed, where partitions were to leave
   * it and another shard cannot be asked about them, unless that is detached and has no table: gone
   * as well. Called again after a crash. Point reads, two writes, and the requests of
   * `MapRecovery.giveUp`.
   */
  async giveUp(id: string, shard: string): Promise<Operation> {
    const operation = operationOf(await this.#read(id));
    await giveUpInOperation(this.#options, operation, shard, (change) => this.#change(id, change));
    return operationOf(await this.#read(id));
  }

  /** What was done, by which this program reads and writes from then on. A point read. */
  async #followed(done: Promise<Operation>): Promise<Operation> {
    const operation = await done;
    // A map that cannot be read now is read when it is needed.
    await this.#options.followed.state().catch(() => undefined);
    return operation;
  }

  /**
   * The operation, once its change has begun. Another program may have cancelled it before the map
   * knew of the change: then this takes the change back and throws `OperationError`; the operation
   * stays cancelled.
   */
  async #begun(id: string): Promise<Operation> {
    const found = operationOf(await this.#read(id));
    if (found.status !== 'cancelled') return found;
    await this.#takeBack(id);
    throw new OperationError(`the operation ${id} was cancelled before it began`);
  }

  /** A program that was killed in `begin` may have left the change of such an operation. */
  async #takeBackCancelled(): Promise<void> {
    const { map, rows } = this.#options;
    const state = await map.state();
    if (state.phase === 'settled' || state.operation === undefined) return;
    const row = await rows.find('operation', state.operation);
    if (row !== undefined && operationOf(row).status === 'cancelled') {
      await this.#takeBack(state.operation);
    }
  }

  /** Takes the change of this operation back, and of no other, while others run it. */
  async #takeBack(id: string): Promise<void> {
    const { map } = this.#options;
    for (;;) {
      const state = await map.state();
      if (!isUnderWay(state, id)) return;
      await this.#requireReturnable(state);
      try {
        await map.rollBack({ operation: id });
      } catch (error) {
        const isOvertaken = error instanceof StaleMapError;
        if (!isOvertaken || (await map.state()).version === state.version) throw error;
      }
    }
  }

  async #runOn(id: string, mode: OperationMode, options: RunOptions): Promise<Operation> {
    const { map } = this.#options;
    const { concurrency, signal, cleanUp = true } = options;
    const step: StepRunner = async (name, work) => {
      // Each time: a restore may have begun while the step before went on.
      await this.#requireWhole(await map.state());
      const log = new ProgressLog(async (partitions) => {
        options.onProgress?.(await this.#change(id, { step: name, partitions }));
      });
      log.note(0);
      await log.settled();
      const result = await work({
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(signal === undefined ? {} : { signal }),
        onProgress: ({ partitions }) => log.note(partitions),
      });
      await log.settled();
      return result;
    };
    for (;;) {
      signal?.throwIfAborted();
      const found = operationOf(await this.#read(id));
      if (isEnded(found)) return found;
      const state = await map.state();
      if (found.status === 'cancelling' && !isFinished(state, id)) return this.#cancel(id);
      try {
        if (isUnderWay(state, id)) {
          if (state.phase === 'copying') await this.#move(mode, step);
          else if (state.phase === 'handing-back') return await this.#cancel(id);
          else await step('handing-over', (walk) => map.cutOver(walk));
          await this.#finish();
          continue;
        }
        if (isFinished(state, id)) {
          if (cleanUp) await step('cleaning-up', (walk) => map.cleanUp(walk));
          const details = cleanUp ? '' : rowsLeft;
          return await this.#change(id, { status: 'completed', step: 'ended', details });
        }
      } catch (error) {
        // Another program that runs the operation as well may be ahead.
        const isOvertaken = error instanceof StaleMapError;
        if (isOvertaken && (await map.state()).version !== state.version) continue;
        throw error;
      }
      const isBack = state.phase === 'settled' && state.last?.operation === id;
      const details = isBack ? 'taken back' : 'the map knows nothing of it: it never began';
      return this.#change(id, { status: 'cancelled', step: 'ended', details });
    }
  }

  /** What is not there any more was not handed over: then the map stays as it is. */
  async #finish(): Promise<void> {
    const { map } = this.#options;
    const state = await map.state();
    if (state.phase !== 'handed-over') return;
    await this.#requireWhole(state);
    await map.finish();
  }

  async #move(mode: OperationMode, step: StepRunner): Promise<void> {
    const { map } = this.#options;
    if (mode !== 'online') await step('closing', (walk) => map.close(mode, walk));
    await step('copying', (walk) => map.backfill(walk));
    if (mode !== 'online') {
      const report = await step('verifying', (walk) => map.verify(walk));
      if ('rows' in report && report.rows > 0) {
        // Where a shard was lost meanwhile, that is told.
        await this.#requireWhole(await map.state());
        throw new OperationError(`${report.rows} rows differ although nobody may write them`);
      }
    }
    await step('handing-over', (walk) => map.cutOver(walk));
  }

  async #requireSettled(): Promise<void> {
    const { name, map } = this.#options;
    const state = await map.state();
    if (state.phase === 'settled' || state.operation === undefined) return;
    throw new StaleMapError(
      `the map '${name}' is ${state.phase} by the operation ${state.operation}: run or cancel that ` +
        'one first',
    );
  }

  /** Throws `ManagerError` for a change that would move nothing, whatever the shards have. */
  #refuseUnchanged(
    change: ShardRouting | RoutingChange,
    routing: ShardRouting,
    target: ShardRouting,
  ): void {
    if (!sameRouting(routing, target)) return;
    const { name } = this.#options;
    const used = shardsOf(routing);
    const leaves = typeof change === 'function' ? change.leaves : undefined;
    throw new ManagerError(
      leaves !== undefined && !used.includes(leaves)
        ? `the map '${name}' does not lead to the shard '${leaves}': nothing is there to be moved; ` +
            `its shards are ${used.map((shard) => `'${shard}'`).join(', ')}`
        : `the map '${name}' has that routing already: nothing is to be moved`,
    );
  }

  /** The map tells how its last operation went only until the next one begins. */
  async #endLast(state: MapState): Promise<void> {
    const last = state.phase === 'settled' ? state.last : undefined;
    const row = last && (await this.#options.rows.find('operation', last.operation));
    if (last === undefined || row === undefined) return;
    const isDone = last.outcome === 'finished';
    await this.#change(last.operation, {
      status: isDone ? 'completed' : 'cancelled',
      step: 'ended',
      details: isDone ? rowsLeft : 'taken back',
    });
  }

  /**
   * Throws `ManagerError` while a restore into a shard that partitions leave or reach goes on, and
   * `ModelError` when the account of one was emptied.
   */
  async #requireWhole(state: MapState): Promise<void> {
    if (state.phase === 'settled') return;
    const { rows } = this.#options;
    const shards = concernedShards(state.routing, state.target);
    await refuseAnyRestoring(rows, shards);
    await this.#requireAllBound(state, shards);
  }

  /** Throws `ModelError` for a shard whose account was emptied. A point read of each. */
  async #requireAllBound(
    state: MapState,
    shards: readonly string[],
    instead?: string,
  ): Promise<void> {
    const led = { title: `the map '${this.#options.name}'`, ...leadingOf(state) };
    for (const shard of new Set(shards)) {
      await requireBound(this.#options.tableOf(shard), { shard, ...led }, instead);
    }
  }

  /** As `#requireWhole`, unless all partitions are where they were and stay there. */
  async #requireReturnable(state: MapState): Promise<void> {
    if (state.phase !== 'copying') await this.#requireWhole(state);
  }

  async #requireOnline(target: ShardRouting): Promise<void> {
    const { name, shards } = this.#options;
    const known = new Map((await shards()).map((info) => [info.name, info.status]));
    for (const shard of shardsOf(target)) {
      const status = known.get(shard) ?? 'not registered';
      if (status === 'online') continue;
      throw new ManagerError(
        `the map '${name}' would need the shard '${shard}', which is ${status}`,
      );
    }
  }

  async #requireEmpty(routing: ShardRouting, target: ShardRouting): Promise<void> {
    const { name, textOf, tableOf } = this.#options;
    for (const shard of shardsOf(target)) {
      for await (const row of allRows(tableOf(shard), { select: [ownTypeProperty] })) {
        if (!isContent(row)) continue;
        const text = textOf(row.partitionKey);
        if (shardOfText(target, text) !== shard || shardOfText(routing, text) === shard) continue;
        throw new ManagerError(
          `the shard '${shard}' has rows of '${row.partitionKey}' already, which would come to ` +
            `it: clean the map '${name}' up, or let them be replaced (target: 'replaced')`,
        );
      }
    }
  }

  async #read(id: string): Promise<ManagerRow> {
    const { name, rows } = this.#options;
    const row = await rows.find('operation', id);
    if (row?.texts['Map'] === name) return row;
    throw new OperationError(`the map '${name}' has no operation ${id}`);
  }

  /** Does not overwrite an operation that has ended or was cancelled meanwhile. */
  async #change(id: string, change: OperationChange): Promise<Operation> {
    for (;;) {
      const row = await this.#read(id);
      const before = operationOf(row);
      if (isEnded(before)) return before;
      const isLate = before.status === 'cancelling' && change.status === 'stopped';
      const next = { ...before, ...change, changedAt: this.#now() };
      const texts = textsOfOperation(isLate ? { ...next, status: 'cancelling' } : next);
      if (await this.#options.rows.put('operation', id, texts, row.etag)) {
        return operationOf({ ...row, texts });
      }
    }
  }

  #now(): string {
    return isoOfTicks(ticksOfMicros(this.#options.clock.nowMicros()));
  }
}

type Work = (walk: WalkOptions) => Promise<ShardReport | MapState>;

type StepRunner = (name: OperationStep, work: Work) => ReturnType<Work>;
