/**
 * Whom a read asks that may bring much. A read without one takes what it wants, when it wants.
 */
export interface ReadRoom {
  /**
   * Counts the bytes that have been read and are held, those of earlier calls included. Throws what
   * the caller of the read is to be told where there is no room for them; a read that is to change
   * something asks before it does.
   */
  hold(bytes: number): void;
  /**
   * Before so many bytes, or up to so many, are made into values and texts, which are many times as
   * large. Resolves when that may begin, and it may go on until the answer is there; undefined: at
   * once. Rejects when nobody waits for the answer any more.
   */
  enter(bytes: number): Promise<void> | undefined;
}

/** Has room for everything. */
export const unboundedRoom: ReadRoom = Object.freeze({
  hold: () => undefined,
  enter: () => undefined,
});
