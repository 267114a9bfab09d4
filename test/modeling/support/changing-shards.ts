import type { RowKey, RowQuery, RowWrite, TableGateway } from '../../../src/modeling/index.js';
import {
  addShard,
  mergeShards,
  moveShard,
  type RoutingChange,
  StaleMapError,
  type ShardMap,
} from '../../../src/modeling/patterns/shard-map/index.js';
import { shardsOf, type ShardRouting } from '../../../src/placement/shard-routing.js';

/** Calls of the table between two steps of a change. */
const callsBetween = 5;

/**
 * The table of a map by hash of the shards `main` and `more`, which another process changes all the
 * time: between every few calls by one step, of a merge of both shards, a move to the other one or
 * a split. So a pattern meets every phase, and hands partitions over by itself.
 */
export class ChangingShards implements TableGateway {
  readonly table: string;
  readonly #map: ShardMap;
  readonly #changed: ShardMap;
  #calls = 0;
  #copied = 0;
  #cleaned = 0;
  #step: Promise<void> = Promise.resolve();

  /** `changed`: the same map, of the process that changes it. */
  constructor(map: ShardMap, changed: ShardMap) {
    this.table = map.table.table;
    this.#map = map;
    this.#changed = changed;
  }

  get(key: RowKey, select?: readonly string[]) {
    return this.#between(() => this.#map.table.get(key, select));
  }

  write(write: RowWrite) {
    return this.#between(() => this.#map.table.write(write));
  }

  transact(writes: readonly RowWrite[]) {
    return this.#between(() => this.#map.table.transact(writes));
  }

  page(query: RowQuery) {
    return this.#between(() => this.#map.table.page(query));
  }

  async #between<T>(call: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    if (this.#calls % callsBetween === 0) {
      this.#step = this.#step.then(() => this.#next().catch(unlessOvertaken));
      await this.#step;
    }
    return call();
  }

  /** One step, by what the map says. */
  async #next(): Promise<void> {
    const map = this.#changed;
    const state = await map.state();
    switch (state.phase) {
      case 'settled':
        if (this.#cleaned === state.version) {
          await map.start(changeOf(state.routing, state.version));
          return;
        }
        await map.cleanUp();
        this.#cleaned = state.version;
        return;
      case 'copying':
        if (this.#copied === state.version) {
          // Whoever writes next hands its partition over.
          await map.cutOver({ signal: AbortSignal.abort() }).catch(unlessAborted);
          return;
        }
        await map.backfill();
        this.#copied = state.version;
        return;
      case 'handing-over':
        await map.cutOver();
        return;
      case 'handed-over':
        if (state.version % 2 === 0) await map.rollBack();
        else await map.finish();
        return;
      case 'handing-back':
        await map.rollBack();
        return;
    }
  }
}

function changeOf(routing: ShardRouting, version: number): RoutingChange {
  const [first, second] = shardsOf(routing);
  if (first === undefined) throw new Error('the map has no shard');
  if (second !== undefined) return mergeShards(second, first);
  const other = first === 'main' ? 'more' : 'main';
  return version % 3 === 0 ? moveShard(first, other) : addShard(other);
}

/** A killed process has begun a step that still goes on. */
function unlessOvertaken(error: unknown): void {
  if (!(error instanceof StaleMapError)) throw error;
}

function unlessAborted(error: unknown): void {
  if (!(error instanceof DOMException && error.name === 'AbortError')) throw error;
}
