import type { Bytes } from '../../base/bytes.js';

/**
 * The files of a journal: on a disk, or in a simulated one. Each opening of the store is a
 * _generation_, with a folder of its own.
 */
export interface JournalFiles {
  /** Where the files are, for messages. */
  readonly name: string;
  /**
   * Renames the folders of earlier generations. A process that still writes there finds its files
   * out of place, and acknowledges nothing more. Returns the numbers of these generations.
   */
  retire(): Promise<readonly number[]>;
  /**
   * The name, for messages, and the content of each retired file. The content is synced before it
   * is returned, because a killed process may have left it in the cache of the system alone. A file
   * that another process removes meanwhile is passed over.
   */
  retired(): AsyncIterable<{ readonly name: string; readonly content: Buffer }>;
  /**
   * Removes the folders of earlier generations, but not those of later ones. Each is durably gone
   * before the next one is touched, the earliest first. Once the signal is aborted no other one is
   * begun, and those that are left are removed by a later call, of this opening or of another.
   */
  removeRetired(signal?: AbortSignal): Promise<void>;
  /** Creates the folder of a new generation. */
  begin(generation: number): Promise<void>;
  /**
   * Creates a file of this generation: the head, zeros, and the head again. It has its final size,
   * so later writes change nothing but content. The file and its name are durable when this
   * resolves; nothing of it is left when it rejects.
   */
  create(number: number, head: Bytes, bytes: number): Promise<JournalFile>;
  /** Removes the folder of this generation after its opening has failed, without any frame. */
  removeBegun(): Promise<void>;
  /**
   * Removes the folders of this and all earlier generations, in order like `removeRetired`, when
   * the base has everything. The signal has the same effect.
   */
  removeAll(signal?: AbortSignal): Promise<void>;
}

export interface JournalFile {
  /** The number that it was created with. */
  readonly number: number;
  /** Its path, for messages. */
  readonly name: string;
  readonly bytes: number;
  /** Durable when it resolves. When it rejects, any part of the bytes may have been written. */
  write(bytes: Bytes, position: number): Promise<void>;
  /**
   * Why another process would not find the file whole at its path, or why that is unknown, as the
   * predicate of a sentence. Undefined when it would find it. Never throws: a commit whose frame is
   * durable must not be reported as one of which nothing was written.
   */
  detachment(): string | undefined;
  close(): Promise<void>;
  /** Closes and deletes the file. */
  remove(): Promise<void>;
}
