import { doubledDelay } from '../../../base/async/back-off.js';

/** An unexpected end of a worker: how long it listened, if at all. */
export interface WorkerExit {
  readonly listenedMs: number | undefined;
}

export type Decision =
  { readonly kind: 'restart'; readonly delayMs: number } | { readonly kind: 'give-up' };

/** The consecutive failed starts of a worker, at most. */
export const failedStartsMax = 5;
/** A worker that listened this long started successfully. */
const wellMs = 10_000;
/** In milliseconds. */
const delays = { first: 100, last: 5_000 };

/**
 * The restart policy of one worker. The first restart is immediate; quick further ones are delayed
 * more and more; after too many failed starts there are no more.
 */
export class Restarts {
  #failedStarts = 0;
  #quickExits = 0;

  after({ listenedMs }: WorkerExit): Decision {
    this.#failedStarts = listenedMs === undefined ? this.#failedStarts + 1 : 0;
    if (this.#failedStarts >= failedStartsMax) return { kind: 'give-up' };
    if (listenedMs !== undefined && listenedMs >= wellMs) this.#quickExits = 0;
    const delayMs = this.#quickExits === 0 ? 0 : doubledDelay(delays, this.#quickExits);
    this.#quickExits += 1;
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
