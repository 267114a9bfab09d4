export { codeOf, messageOf } from '../../base/thrown.js';

/** Wrong usage: nothing was done. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command failed for a reason that the user can understand. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  /** Usually one; a file can have several mistakes, one line each. */
  readonly lines: readonly string[];

  constructor(message: string | readonly string[], options?: ErrorOptions) {
    const lines = typeof message === 'string' ? [message] : message;
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** The server could not do what was asked for now, for example because a store does not answer. */
export class AwayFailure extends CommandFailure {}

/**
 * The error of a command that has done some of its work: a script must not mistake it for wrong
 * usage, which has no effect.
 */
export function afterSomeWork(error: unknown): unknown {
  if (!(error instanceof UsageError)) return error;
  return new CommandFailure(error.message.split('\n'), { cause: error });
}

/** A row of an input that cannot become an entity. Other rows are not affected. */
export class RowError extends Error {
  override readonly name = 'RowError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
