/** Counts of the partition layer since the process started. */
export class PartitionCounters {
  /** Calls that a store refused because the front end had an outdated guard. */
  guardRefusals = 0;
  /** How often the front end has read the catalogue after such a refusal. */
  mapRefreshes = 0;
  /** Bytes of keys and values that this process has copied to the targets of moves. */
  movedBytes = 0;
  /**
   * How often, and for how many milliseconds in all, writes and reads waited for the end of a move.
   */
  readonly pauses = { write: { count: 0, ms: 0 }, read: { count: 0, ms: 0 } };
  readonly #ended = new Map<string, EndedOperations>();

  /** Operations that this process has carried out, by kind and result. */
  get ended(): readonly EndedOperations[] {
    return [...this.#ended.values()];
  }

  noteEnd(kind: string, result: string): void {
    const name = `${kind} ${result}`;
    const { count } = this.#ended.get(name) ?? { count: 0 };
    this.#ended.set(name, { kind, result, count: count + 1 });
  }

  notePause(kind: 'write' | 'read', ms: number): void {
    this.pauses[kind].count += 1;
    this.pauses[kind].ms += ms;
  }
}

export interface EndedOperations {
  readonly kind: string;
  readonly result: string;
  readonly count: number;
}
