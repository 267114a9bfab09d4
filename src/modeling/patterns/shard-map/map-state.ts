import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';

/** How far a change of a shard map is. */
export type MapPhase =
  /** No change is under way. */
  | 'settled'
  /** Partitions that will move are copied; their old shards take all writes. */
  | 'copying'
  /** Partitions are handed over to their new shards, one by one. */
  | 'handing-over'
  /** Every partition has been handed over, and can be handed back. */
  | 'handed-over'
  /** Partitions are handed back to their old shards, one by one. */
  | 'handing-back';

/** A shard map as it is stored. */
export type MapState =
  | { readonly version: number; readonly phase: 'settled'; readonly routing: ShardRouting }
  | {
      /** Counts changes of the map. */
      readonly version: number;
      readonly phase: Exclude<MapPhase, 'settled'>;
      readonly routing: ShardRouting;
      /** The routing that follows. */
      readonly target: ShardRouting;
    };

/** Where a partition is. */
export interface Route {
  /** The shard that is to take its writes. */
  readonly home: string | undefined;
  /** While it is handed over: the shard that may still take them. */
  readonly before: string | undefined;
  /** Which of both has the rows of a partition that was never opened. */
  readonly first: string | undefined;
}

/** Where the partitions of a text are. Pure. */
export function routeOf(state: MapState, text: string): Route {
  const here = shardOfText(state.routing, text);
  const stays: Route = { home: here, before: undefined, first: here };
  if (state.phase === 'settled' || state.phase === 'copying') return stays;
  const there = shardOfText(state.target, text);
  if (there === here) return stays;
  return state.phase === 'handing-back'
    ? { home: here, before: there, first: here }
    : { home: there, before: here, first: here };
}

export function isSameRoute(left: Route, right: Route): boolean {
  return left.home === right.home && left.before === right.before && left.first === right.first;
}

/** The shards that may have rows, each once, in order. */
export function shardsOfState(state: MapState): readonly string[] {
  const here = shardsOf(state.routing);
  if (state.phase === 'settled') return here;
  return [...new Set([...here, ...shardsOf(state.target)])].sort();
}
