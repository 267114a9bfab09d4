import { mistakeText, type Mistake, type ValuePath } from '../../base/shape/mistake.js';

/** Invalid options; the message names them and says what would be accepted. */
export class ServerOptionsError extends Error {
  override readonly name = 'ServerOptionsError';
  /** The invalid options and their mistakes; empty when the error has another subject. */
  readonly mistakes: readonly Mistake[];

  constructor(
    what: string | readonly Mistake[],
    {
      call = 'createServer({…})',
      cause,
    }: { readonly call?: string; readonly cause?: unknown } = {},
  ) {
    const mistakes = typeof what === 'string' ? [] : what;
    const lines = mistakes.map((mistake) => mistakeText(mistake, call));
    super(typeof what === 'string' ? what : [...new Set(lines)].join('\n'), { cause });
    this.mistakes = mistakes;
  }
}

/** An error about one option that its shape does not cover. `problem`: as in a mistake. */
export function wrongOption(path: ValuePath, problem: string): ServerOptionsError {
  return new ServerOptionsError([{ path, problem, unknownName: undefined }]);
}
