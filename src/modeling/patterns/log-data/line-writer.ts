import type { LogLine } from './log-batch.js';

/** Writes lines to blobs, at once or later. */
export interface LineWriter {
  write(line: LogLine): Promise<void>;
  /** Resolves when every line that was taken is stored. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
