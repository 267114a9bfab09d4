import type { Reclaimed } from './sweep-cursor.js';

interface Sweep {
  step(entriesMax: number): Promise<Reclaimed>;
}

/**
 * Several sweeps that share the entries of a step. Each is the first in turn, so one that always
 * has garbage does not starve the others.
 */
export class SweepTurns {
  readonly #sweeps: Sweep[];

  constructor(sweeps: readonly Sweep[]) {
    this.#sweeps = [...sweeps];
  }

  async step(entriesMax: number): Promise<Reclaimed> {
    const turn = [...this.#sweeps];
    this.#sweeps.push(...this.#sweeps.splice(0, 1));
    let deleted = 0;
    let isMore = false;
    for (const sweep of turn) {
      if (deleted >= entriesMax) return { deleted, more: true };
      const swept = await sweep.step(entriesMax - deleted);
      deleted += swept.deleted;
      isMore ||= swept.more;
    }
    return { deleted, more: isMore };
  }
}
