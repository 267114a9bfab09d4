import type { LogLine } from './log-batch.js';

/** Writes lines to blobs, immediately or later. */
export interface LineWriter {
  write(line: LogLine): Promise<void>;
  /**
   * Waits for the lines that were accepted before the call, whatever is written meanwhile. Throws
   * when one of them could not be stored.
   */
  flush(): Promise<void>;
  /** As `flush`; nothing is written after the call. */
  close(): Promise<void>;
}
