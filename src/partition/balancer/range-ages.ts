import { compareBytes } from '../../base/bytes.js';
import type { OperationKind } from '../../placement/balancer/plan.js';
import type { RangeMap } from '../range-map.js';
import type { RangeRow } from '../rows.js';

interface Age {
  readonly epoch: number;
  readonly kind: OperationKind | undefined;
  readonly sinceMs: number;
}

/** Compares each map with the one before to find which operation made a range, and when. */
export class RangeAges {
  #map: RangeMap | undefined;
  #ages = new Map<number, Age>();

  observe(map: RangeMap, nowMs: number): void {
    const before = this.#map;
    const ages = new Map<number, Age>();
    for (const range of map.ranges) {
      const known = this.#ages.get(range.id);
      const isSame = known?.epoch === range.epoch;
      const kind = before && kindOf(range, known, before);
      ages.set(range.id, isSame ? known : { epoch: range.epoch, kind, sinceMs: nowMs });
    }
    this.#map = map;
    this.#ages = ages;
  }

  /**
   * The operation that made the range as it is; undefined when it happened before the first map.
   */
  last(id: number, nowMs: number): { kind: OperationKind; agoMs: number } | undefined {
    const age = this.#ages.get(id);
    return age?.kind && { kind: age.kind, agoMs: nowMs - age.sinceMs };
  }
}

function kindOf(range: RangeRow, known: Age | undefined, before: RangeMap): OperationKind {
  if (known !== undefined) return 'move';
  const { end } = before.at(range.start);
  const isPart =
    end === undefined || (range.end !== undefined && compareBytes(range.end, end) <= 0);
  return isPart ? 'split' : 'merge';
}
