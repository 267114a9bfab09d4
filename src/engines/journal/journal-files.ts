import type { Bytes } from '../../base/bytes.js';

/**
 * Where a journal keeps its files: on a disk, or in a model of one. Each opening of the store has a
 * folder of its own, its generation.
 */
export interface JournalFiles {
  /** For people: where they are. */
  readonly name: string;
  /**
   * Moves what former openings have left out of their way: a file of theirs is not in place any
   * more, so that a process which does not know yet that it was replaced acknowledges nothing.
   * Returns the numbers of their generations.
   */
  retire(): Promise<readonly number[]>;
  /**
   * The content of each file that was left, one after the other, with its name for people. It is
   * durable by then: a process that was killed may have left it to the system alone.
   */
  retired(): AsyncIterable<{ readonly name: string; readonly content: Buffer }>;
  /** Removes what openings before this one have left. Whoever came after has to find its folder. */
  removeRetired(): Promise<void>;
  /** Makes the folder of a generation, which nobody has made before. */
  begin(generation: number): Promise<void>;
  /**
   * A new file of that generation: the head, zeros, the head again, so that writing to it later
   * changes nothing but its content. Durable with its name when it resolves; nothing is left of it
   * when it rejects.
   */
  create(number: number, head: Bytes, bytes: number): Promise<JournalFile>;
  /** Removes the folder of the generation, whose opening has failed: there is no frame in it. */
  removeBegun(): Promise<void>;
  /** Removes the folder of the generation and those before: nothing of them counts any more. */
  removeAll(): Promise<void>;
}

export interface JournalFile {
  /** As it was made with. */
  readonly number: number;
  /** For people. */
  readonly name: string;
  readonly bytes: number;
  /** Durable when it resolves; anything from nothing to all of it may be there when it rejects. */
  write(bytes: Bytes, position: number): Promise<void>;
  /** Whether another process that opens the journal would find it. */
  isInPlace(): boolean;
  close(): Promise<void>;
  /** Closes it and takes it away. */
  remove(): Promise<void>;
}
