import type { SimRandom } from '../support/sim-random.js';

export const areas = ['sockets', 'signals', 'processes', 'disk'] as const;
export type Area = (typeof areas)[number];

/** One kind of trouble. Its choices come from the random source alone. */
export interface Scenario {
  readonly area: Area;
  readonly name: string;
  /** Why it cannot run here; false when it can. */
  readonly skip?: string | false;
  /** Throws a `Finding` when the server does what it must not. Resolves with how it went. */
  readonly run: (random: SimRandom) => Promise<Outcome>;
}

/** The server went on serving, or ended with a message and started again with everything. */
export type Outcome = 'goes on' | 'ends clearly' | 'starts again';
