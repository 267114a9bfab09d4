import { CommanderError } from 'commander';
import { CommandFailure, messageOf, UsageError } from './terminal/failure.js';
import { notice, noticeLines } from './terminal/notice.js';
import { ConnectionError, ServiceError } from './client/service-error.js';

/** Before the first line of an error, and before further ones. */
const firstLine = 'error: ';
const nextLine = ' '.repeat(firstLine.length);

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
    tell(error.message.split('\n'));
    return 2;
  }
  if (error instanceof ServiceError) {
    tell([`${error.code} (${error.status}): ${error.message}`]);
    return 1;
  }
  if (error instanceof CommandFailure) {
    if (isOfLibrary(error.cause)) notice('');
    tell(error.lines);
    return 1;
  }
  if (error instanceof ConnectionError) {
    tell([error.message]);
    return 1;
  }
  if (isWithoutWorkingDirectory(error)) {
    tell(['The working directory does not exist any more: change to one that does.']);
    return 1;
  }
  const detail = error instanceof Error ? error.stack : undefined;
  noticeLines(`${firstLine}${detail ?? messageOf(error)}`.split('\n'));
  return 1;
}

function tell(lines: readonly string[]): void {
  noticeLines(lines.map((line, at) => `${at === 0 ? firstLine : nextLine}${line}`));
}
