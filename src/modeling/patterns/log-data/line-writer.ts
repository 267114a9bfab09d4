import type { LogLine } from './log-batch.js';

/** Writes lines to blobs, immediately or later. */
export interface LineWriter {
  write(line: LogLine): Promise<void>;
  /** Resolves when every accepted line is stored. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
