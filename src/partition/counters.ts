/** What a process has counted of the partition layer since it began. */
export class PartitionCounters {
  /** Calls that a store refused because the front end knew an older guard. */
  guardRefusals = 0;
  /** Looks at the catalogue after that. */
  mapRefreshes = 0;
  /** Keys and values that copies of this process have brought to their targets. */
  movedBytes = 0;
  /** In milliseconds: how long writes and reads of a range had to wait for the end of its move. */
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
