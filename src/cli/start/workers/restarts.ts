/** A worker that has ended without being told to: how long it listened, if it ever did. */
export interface Death {
  readonly listenedMs: number | undefined;
}

export type Decision =
  { readonly kind: 'restart'; readonly delayMs: number } | { readonly kind: 'give-up' };

/** Starts of one worker that may fail in a row. */
export const failedStartsMax = 5;
/** A worker that listened this long was well: its death is no consequence of its start. */
const wellMs = 10_000;
const firstDelayMs = 100;
const delayMsMax = 5_000;

/**
 * Decides about the deaths of one worker and its replacements. The first death is answered at once;
 * those that follow quickly are answered later and later; starts that fail again and again are not
 * answered any more.
 */
export class Restarts {
  #failedStarts = 0;
  #quickDeaths = 0;

  after({ listenedMs }: Death): Decision {
    this.#failedStarts = listenedMs === undefined ? this.#failedStarts + 1 : 0;
    if (this.#failedStarts >= failedStartsMax) return { kind: 'give-up' };
    if (listenedMs !== undefined && listenedMs >= wellMs) this.#quickDeaths = 0;
    const delayMs =
      this.#quickDeaths === 0
        ? 0
        : Math.min(firstDelayMs * 2 ** (this.#quickDeaths - 1), delayMsMax);
    this.#quickDeaths++;
    return { kind: 'restart', delayMs };
  }
}

/** How the system ends a process that meets memory which is not what it should be. */
const crashes: ReadonlySet<string> = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL']);

/** What whoever reads the log should do about the end of a worker; undefined where nothing. */
export function adviceAfter(exit: string): string | undefined {
  if (!crashes.has(exit)) return undefined;
  return (
    'The data file may be damaged. Stop the server and look with: tabularium check --location ' +
    'DIRECTORY'
  );
}
