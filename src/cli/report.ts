import { CommanderError } from 'commander';
import { CommandFailure, messageOf, UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { ConnectionError, ServiceError } from './client/service-error.js';
import { printable } from './terminal/terminal.js';

/** The indentation of further lines, below `error: `. */
const nextLine = '\n       ';

/**
 * True when the error comes from LMDB, whose errors have numeric codes: it also writes to standard
 * error, without a line end.
 */
function isOfLibrary(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && typeof error.code === 'number') || isOfLibrary(error.cause);
}

/** True when the working directory is gone: relative paths fail then. */
function isWithoutWorkingDirectory(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd';
}

/** Prints an error; returns the exit code: 1 failure, 2 wrong usage. */
export function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has already printed help, the version or the message.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    // A file can have several mistakes, each a line.
    notice(`error: ${error.message.replaceAll('\n', nextLine)}`);
    return 2;
  }
  if (error instanceof ServiceError) {
    notice(`error: ${printable(`${error.code} (${error.status}): ${error.message}`)}`);
    return 1;
  }
  if (error instanceof CommandFailure) {
    if (isOfLibrary(error.cause)) notice('');
    notice(`error: ${error.lines.map(printable).join(nextLine)}`);
    return 1;
  }
  if (error instanceof ConnectionError) {
    notice(`error: ${printable(error.message)}`);
    return 1;
  }
  if (isWithoutWorkingDirectory(error)) {
    notice('error: The working directory does not exist any more: change to one that does.');
    return 1;
  }
  const detail = error instanceof Error ? error.stack : undefined;
  notice(`error: ${detail ?? messageOf(error)}`);
  return 1;
}
