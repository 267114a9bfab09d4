import type { Timers } from '../../../base/async/timers.js';
import { isConflictOrLost, retryConflicts } from '../../table/contention.js';
import { sameRouting } from './map-row.js';
import { isOneOf, type ChangeOutcome, type MapPhase, type MapState } from './map-state.js';
import { StaleMapError } from './shard-errors.js';
import type { StoredMap } from './stored-map.js';

export type Moving = Exclude<MapState, { readonly phase: 'settled' }>;

/** The phases of a stored map, as several programs change them at once. */
export class MapPhases {
  readonly #map: StoredMap;
  readonly #timers: Timers;

  constructor(map: StoredMap, timers: Timers) {
    this.#map = map;
    this.#timers = timers;
  }

  /**
   * Changes the phase; does nothing when it is that phase already, or one of those that follow. The
   * work of a phase only justifies leaving that phase, so `from` may be a map as it was read.
   */
  advance(
    from: readonly (MapPhase | MapState)[],
    to: Moving['phase'],
    ...beyond: readonly MapPhase[]
  ): Promise<MapState> {
    return this.persistently(`the phase '${to}'`, async () => {
      const { state, etag } = await this.#map.read();
      if (isOther(state, from[0])) throw this.error(state, [state]);
      if (state.phase === to || beyond.includes(state.phase)) return state;
      if (state.phase === 'settled' || !isOneOf(state, from)) throw this.error(state, from);
      const { version, access: _, ...change } = state;
      return this.#map.write({ ...change, version: version + 1, phase: to }, etag);
    });
  }

  settle(from: readonly (MapPhase | MapState)[], outcome: ChangeOutcome): Promise<MapState> {
    return this.persistently(`the phase 'settled'`, async () => {
      const { state, etag } = await this.#map.read();
      if (state.phase === 'settled') return state;
      if (!isOneOf(state, from)) throw this.error(state, from);
      const { version, operation, target, routing } = state;
      const next: MapState = {
        version: version + 1,
        phase: 'settled',
        routing: outcome === 'finished' ? target : routing,
        ...(operation === undefined ? {} : { last: { operation, outcome } }),
      };
      return this.#map.write(next, etag);
    });
  }

  /** Repeats an attempt that another program has overtaken, or whose answer was lost. */
  persistently<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const name = `${what} of the map '${this.#map.name}'`;
    return retryConflicts(name, { timers: this.#timers }, attempt, isConflictOrLost);
  }

  /** For a step that does not begin in this phase, or was overtaken. */
  error({ phase }: MapState, from: readonly (MapPhase | MapState)[]): StaleMapError {
    const wanted = from.map((each) => (typeof each === 'string' ? each : each.phase));
    const text = `the map '${this.#map.name}' is in the phase '${phase}'`;
    return new StaleMapError(
      wanted.includes(phase)
        ? `${text} of another change; the step was overtaken`
        : `${text}; this step begins in ${wanted.join(' or ')}`,
    );
  }
}

/** Whether a change other than the begun one is under way. */
function isOther(state: MapState, begun: MapPhase | MapState | undefined): boolean {
  if (typeof begun !== 'object' || begun.phase === 'settled') return false;
  return state.phase !== 'settled' && !sameRouting(state.target, begun.target);
}
