import type { SimRandom } from '../support/sim-random.js';

export const areas = ['sockets', 'signals', 'processes', 'disk'] as const;
export type Area = (typeof areas)[number];

/** One kind of fault. All choices come from the random source. */
export interface Scenario {
  readonly area: Area;
  readonly name: string;
  /** Why it cannot run here; false when it can. */
  readonly skip?: string | false;
  /** Throws a `Finding` when the server misbehaves. Resolves with the outcome. */
  readonly run: (random: SimRandom) => Promise<Outcome>;
}

/**
 * The server continued, ended with a message and started again, or was ended and started again;
 * with all data.
 */
export type Outcome = 'goes on' | 'ends clearly' | 'starts again';
