import type { Logger } from '../exchange/logger.js';

const every = 1000;

/**
 * A warning about what any client can cause without end: the first and then one of a thousand is
 * logged, with the number of them so far, so that nobody can fill the log.
 */
export class SampledWarning {
  readonly #logger: Logger;
  readonly #message: string;
  #count = 0;

  constructor(logger: Logger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  give(fields: Readonly<Record<string, unknown>> = {}): void {
    this.#count++;
    if (this.#count % every === 1) {
      this.#logger.warn(this.#message, { ...fields, count: this.#count });
    }
  }
}
