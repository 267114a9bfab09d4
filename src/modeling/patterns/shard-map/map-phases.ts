import { stepIn, wrongPhase } from '../moves/phase-step.js';
import { sameRouting } from './map-row.js';
import { phasesIn, type ChangeOutcome, type MapPhase, type MapState } from './map-state.js';
import { StaleMapError } from './shard-errors.js';
import type { StoredMap } from './stored-map.js';

export type Moving = Exclude<MapState, { readonly phase: 'settled' }>;

/** Changes the phase of a stored map while other programs may change it too. */
export class MapPhases {
  readonly #map: StoredMap;

  constructor(map: StoredMap) {
    this.#map = map;
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
    return this.#map.change(`the phase '${to}'`, (state) => {
      if (isOther(state, from[0])) throw this.error(state, [state]);
      const found = stepIn(state.phase, { from: phasesIn(state, from), to, beyond });
      if (found === 'taken') return state;
      if (found === 'impossible' || state.phase === 'settled') throw this.error(state, from);
      const { version, access: _, ...change } = state;
      return { ...change, version: version + 1, phase: to };
    });
  }

  settle(from: readonly (MapPhase | MapState)[], outcome: ChangeOutcome): Promise<MapState> {
    return this.#map.change(`the phase 'settled'`, (state) => {
      if (state.phase === 'settled') return state;
      const found = stepIn(state.phase, { from: phasesIn(state, from), to: 'settled' });
      if (found === 'impossible') throw this.error(state, from);
      const { version, operation, target, routing } = state;
      return {
        version: version + 1,
        phase: 'settled',
        routing: outcome === 'finished' ? target : routing,
        ...(operation === undefined ? {} : { last: { operation, outcome } }),
      };
    });
  }

  /** For a step that does not begin in this phase, or was overtaken. */
  error({ phase }: MapState, from: readonly (MapPhase | MapState)[]): StaleMapError {
    const { title } = this.#map;
    const wanted = from.map((each) => (typeof each === 'string' ? each : each.phase));
    return new StaleMapError(
      wanted.includes(phase)
        ? `${title} is in the phase '${phase}' of another change; the step was overtaken`
        : wrongPhase(title, phase, wanted),
    );
  }
}

/** Whether a change other than the begun one is under way. */
function isOther(state: MapState, begun: MapPhase | MapState | undefined): boolean {
  if (typeof begun !== 'object' || begun.phase === 'settled') return false;
  return state.phase !== 'settled' && !sameRouting(state.target, begun.target);
}
