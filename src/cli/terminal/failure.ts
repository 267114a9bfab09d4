export { codeOf, messageOf } from '../../base/thrown.js';

/** The command line itself is wrong: nothing was done. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command could not be carried out, for a reason its user can understand. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  /** Usually one. A file can have several mistakes, each a line. */
  readonly lines: readonly string[];

  constructor(message: string | readonly string[], options?: ErrorOptions) {
    const lines = typeof message === 'string' ? [message] : message;
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** One row of an input cannot become an entity. The rows around it are not concerned. */
export class RowError extends Error {
  override readonly name = 'RowError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
