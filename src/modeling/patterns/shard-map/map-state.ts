import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';

/** The phases of a change of a shard map. */
export type MapPhase =
  /** No change is under way. */
  | 'settled'
  /** Partitions that will move are copied; their old shards accept all writes. */
  | 'copying'
  /** Partitions are handed over to their new shards, one by one. */
  | 'handing-over'
  /** Every partition has been handed over, and can be handed back. */
  | 'handed-over'
  /** Partitions are handed back to their old shards, one by one. */
  | 'handing-back';

/** What programs may do with a partition that is closed while it moves. */
export type ClosedAccess = 'read-only' | 'offline';

/** How a change of a map ended. */
export type ChangeOutcome = 'finished' | 'rolled-back';

/** A shard map as it is stored. */
export type MapState =
  | {
      readonly version: number;
      readonly phase: 'settled';
      readonly routing: ShardRouting;
      /** The operation whose change was the last one, and how it ended. */
      readonly last?: { readonly operation: string; readonly outcome: ChangeOutcome };
    }
  | {
      /** The number of changes of the map. */
      readonly version: number;
      readonly phase: Exclude<MapPhase, 'settled'>;
      readonly routing: ShardRouting;
      /** The future routing. */
      readonly target: ShardRouting;
      /** In `copying`: the partitions that move are closed. */
      readonly access?: ClosedAccess;
      /** The operation that makes the change, as given to `start`. */
      readonly operation?: string;
    };

/** The shards of a partition. */
export interface Route {
  /** The shard that is to accept its writes. */
  readonly home: string | undefined;
  /** During handovers, the shard that may still accept them. */
  readonly before: string | undefined;
  /** The one of these two shards that has the rows of a partition that was never opened. */
  readonly first: string | undefined;
}

/** The route of a text. Sends nothing. */
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

/** The shards that may have rows of a partition with this route. */
export function shardsOfRoute({ home, before }: Route): readonly string[] {
  return [home, before].filter((shard) => shard !== undefined);
}

/** The access to a closed partition; undefined: it is unrestricted. */
export function accessOf(state: MapState, text: string): ClosedAccess | undefined {
  if (state.phase !== 'copying' || state.access === undefined) return undefined;
  const isMoving = shardOfText(state.routing, text) !== shardOfText(state.target, text);
  return isMoving ? state.access : undefined;
}

export function isSameRoute(left: Route, right: Route): boolean {
  return left.home === right.home && left.before === right.before && left.first === right.first;
}

/** The shards that may have rows, distinct and sorted. */
export function shardsOfState(state: MapState): readonly string[] {
  const here = shardsOf(state.routing);
  if (state.phase === 'settled') return here;
  return [...new Set([...here, ...shardsOf(state.target)])].sort();
}

/** The phases in which a step begins: the named ones, and the phase of the map as it was read. */
export function phasesIn(
  state: MapState,
  named: readonly (MapPhase | MapState)[],
): readonly MapPhase[] {
  return named.flatMap((each) => {
    if (typeof each === 'string') return [each];
    return each.version === state.version ? [each.phase] : [];
  });
}
