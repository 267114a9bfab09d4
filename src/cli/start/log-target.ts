import { closeSync, constants, fstatSync, openSync, write } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from '../../base/make-directory.js';

/** Where the lines of a log go. */
export interface LogTarget {
  /** Bytes of one write, unless a single line is longer. */
  readonly writeBytesMax: number;
  /** Calls back later: `written` may be less than there was. One at a time. */
  write(
    bytes: Buffer,
    done: (error: NodeJS.ErrnoException | undefined, written: number) => void,
  ): void;
  /** Whether it has been opened again. If not, the old one is still there. */
  reopen(): boolean;
}

const fileWriteBytesMax = 64 * 1024;
/** What a pipe takes whole or not at all (`PIPE_BUF`): lines of several processes never mix. */
const pipeWriteBytesMax = 4096;

const { O_APPEND, O_CREAT, O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;
/** A FIFO without a reader and a pipe that is full fail instead of holding a thread. */
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
 * A file, made with its folders. Throws. `reopened` is told how that went, with the error if it
 * failed: the old file then stays open.
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
 * The same pipe or terminal, but a write to it does not wait. The descriptor itself is shared with
 * other processes, which expect to wait. Where there is no such way, a thread of the pool waits.
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
