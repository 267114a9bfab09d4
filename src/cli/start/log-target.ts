import { closeSync, constants, fstatSync, openSync, write } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from '../../base/make-directory.js';

/** The output of a log. */
export interface LogTarget {
  /** The limit of one write, unless a single line is longer. */
  readonly writeBytesMax: number;
  /** Calls back later; `written` may be less than all. One write at a time. */
  write(
    bytes: Buffer,
    done: (error: NodeJS.ErrnoException | undefined, written: number) => void,
  ): void;
  /** Returns false when reopening failed; the old target is then still in use. */
  reopen(): boolean;
}

const fileWriteBytesMax = 64 * 1024;
/**
 * `PIPE_BUF`: a pipe writes at most this many bytes atomically, so that lines of several processes
 * never mix.
 */
const pipeWriteBytesMax = 4096;

const { O_APPEND, O_CREAT, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;
/** A FIFO without a reader and a full pipe fail instead of blocking a thread. */
const flags = O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK;
const standardError = 2;

/** Standard error, as it was given to the process. */
export function standardErrorTarget(): LogTarget {
  const isFile = fstatSync(standardError).isFile();
  const descriptor = isFile ? standardError : withoutWaiting(standardError);
  return {
    writeBytesMax: isFile ? fileWriteBytesMax : pipeWriteBytesMax,
    write: writerOf(() => descriptor),
    reopen: () => false,
  };
}

/**
 * A file, created with its folders. Throws. `reopened` is called with the result of a reopen: after
 * an error the old file stays in use.
 */
export function fileTarget(file: string, reopened: (error?: unknown) => void): LogTarget {
  let descriptor = openFile(file);
  return {
    writeBytesMax: fileWriteBytesMax,
    write: writerOf(() => descriptor),
    reopen() {
      try {
        const next = openFile(file);
        closeSync(descriptor);
        descriptor = next;
        reopened();
        return true;
      } catch (error) {
        reopened(error);
        return false;
      }
    },
  };
}

function openFile(file: string): number {
  makeDirectory(dirname(file));
  return openSync(file, flags | O_CREAT, 0o666);
}

/**
 * Opens the same pipe or terminal non-blocking. The original descriptor is shared with other
 * processes that expect it to block. When that is impossible, a pool thread blocks.
 */
function withoutWaiting(descriptor: number): number {
  if (process.platform !== 'linux') return descriptor;
  try {
    return openSync(`/proc/self/fd/${descriptor}`, flags);
  } catch {
    // A socket, or a pipe of another user.
    return descriptor;
  }
}

function writerOf(descriptor: () => number): LogTarget['write'] {
  return (bytes, done) => {
    write(descriptor(), bytes, (error, written) => done(error ?? undefined, written));
  };
}
