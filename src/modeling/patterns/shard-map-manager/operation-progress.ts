import type { MapState } from '../shard-map/map-state.js';
import type { Operation } from './operation-record.js';

/** The details of an operation that was not cleaned up. */
export const rowsLeft = 'the rows that moved are still on their former shards';

/** Whether nothing is left to be done for an operation. */
export function isEnded({ status }: Operation): boolean {
  return status === 'completed' || status === 'cancelled';
}

/** Whether the map changes by the operation of this id. */
export function isUnderWay(state: MapState, id: string): boolean {
  return state.phase !== 'settled' && state.operation === id;
}

/** Whether the last change of the map was that of the operation, and went through. */
export function isFinished(state: MapState, id: string): boolean {
  if (state.phase !== 'settled') return false;
  return state.last?.operation === id && state.last.outcome === 'finished';
}

/** Notes of a walk, which cannot wait for them, written one after the other. */
export class ProgressLog {
  readonly #write: (partitions: number) => Promise<void>;
  #latest: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(write: (partitions: number) => Promise<void>) {
    this.#write = write;
  }

  note(partitions: number): void {
    this.#latest = this.#latest
      .then(() => this.#write(partitions))
      .catch((error: unknown) => {
        this.#failure ??= { error };
      });
  }

  async settled(): Promise<void> {
    await this.#latest;
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
