import { CommanderError } from 'commander';
import { CommandFailure, messageOf, UsageError } from './failure.js';
import { buildProgram } from './program.js';
import { ConnectionError, ServiceError } from './service-error.js';
import { printable } from './terminal.js';

/**
 * Runs one command line and ends the process: 0 done, 1 failed, 2 the command line is wrong.
 */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader such as `head` may close our output early; that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  try {
    await buildProgram().parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Tells the user what went wrong; returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed help, the version or the message already.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    // A file can have several mistakes, each a line.
    const lines = error.message.split('\n').map(printable);
    process.stderr.write(`error: ${lines.join('\n       ')}\n`);
    return 2;
  }
  if (error instanceof ServiceError) {
    process.stderr.write(`error: ${error.code} (${error.status}): ${printable(error.message)}\n`);
    return 1;
  }
  if (error instanceof CommandFailure || error instanceof ConnectionError) {
    process.stderr.write(`error: ${printable(error.message)}\n`);
    return 1;
  }
  const detail = error instanceof Error ? error.stack : undefined;
  process.stderr.write(`error: ${detail ?? messageOf(error)}\n`);
  return 1;
}
