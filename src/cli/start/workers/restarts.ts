/** An unexpected end of a worker: how long it listened, if at all. */
export interface Death {
  readonly listenedMs: number | undefined;
}

export type Decision =
  { readonly kind: 'restart'; readonly delayMs: number } | { readonly kind: 'give-up' };

/** The consecutive failed starts of a worker, at most. */
export const failedStartsMax = 5;
/** A worker that listened this long started successfully. */
const wellMs = 10_000;
const firstDelayMs = 100;
const delayMsMax = 5_000;

/**
 * The restart policy of one worker. The first restart is immediate; quick further ones are delayed
 * more and more; after too many failed starts there are no more.
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

/** Signals of memory errors. */
const crashes: ReadonlySet<string> = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL']);

/** Advice for the log about the end of a worker; undefined when there is none. */
export function adviceAfter(exit: string): string | undefined {
  if (!crashes.has(exit)) return undefined;
  return (
    'The data file may be damaged. Stop the server and look with: tabularium check --location ' +
    'DIRECTORY'
  );
}
