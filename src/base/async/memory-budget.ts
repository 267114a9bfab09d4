/** The memory budget of a read that may return much data. A read without one is unbounded. */
export interface MemoryBudget {
  /**
   * Counts bytes that were read and are held, including those of earlier calls. Throws the error
   * for the client when the budget is exceeded, and when the client has left. An operation that
   * changes data calls it before the change.
   */
  hold(bytes: number): void;
  /**
   * Called before up to `bytes` bytes are decoded into values and texts, which take several times
   * the memory. Resolves when decoding may begin; the permission lasts until the answer is
   * complete. `undefined`: at once. Rejects when the client has gone.
   */
  enter(bytes: number): Promise<void> | undefined;
}

/** An unlimited budget. */
export const unboundedMemory: MemoryBudget = Object.freeze({
  hold: () => undefined,
  enter: () => undefined,
});
