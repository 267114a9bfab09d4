import type { Logger } from '../exchange/logger.js';

const every = 1000;

/**
 * A sampled warning about events that any client can cause without limit: logs the first and then
 * one of a thousand, with the total so far, so that clients cannot fill the log.
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
