import { mistakeText, type Mistake, type ValuePath } from '../../base/shape/mistake.js';

/** Options that cannot be served; the message says which and what would do. */
export class ServerOptionsError extends Error {
  override readonly name = 'ServerOptionsError';
  /** Which options, and what is wrong with each; none when it is about something else. */
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

/** One option that is wrong in a way that its shape does not tell. `problem`: as of a mistake. */
export function wrongOption(path: ValuePath, problem: string): ServerOptionsError {
  return new ServerOptionsError([{ path, problem, unknownName: undefined }]);
}
