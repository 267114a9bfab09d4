// Log records in blobs instead of rows. See docs/guides/patterns/log-data.md.

export type { LogBuffering } from './buffered-log-writer.js';
export {
  openLogBlobs,
  type BlobMetadata,
  type BlobPage,
  type FoundBlob,
  type LogBlobs,
  type LogContainer,
} from './log-blobs.js';
export type { LogFormat, LogRecord } from './log-lines.js';
export {
  logReaderOf,
  type LogReader,
  type FoundLog,
  type LogReaderOptions,
  type LogTime,
} from './log-reader.js';
export { logWriterOf, type LogWriter, type LogEntry, type LogWriterOptions } from './log-writer.js';
