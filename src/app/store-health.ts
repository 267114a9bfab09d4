import { within } from '../base/async/deadline.js';
import type { Timers } from '../base/async/timers.js';
import type { Logger } from '../http/exchange/logger.js';
import type { Health } from '../http/admin/health.js';
import { StoreUnavailableError } from '../kv/errors.js';
import { MovedError } from './moves/moved-error.js';
import type { OpenData } from './open-data.js';

/** A key that is never stored: reading it shows whether the store works. */
const probeKey = Uint8Array.of(0);
/** A store that has not answered for this time counts as away. */
const probeLimitMs = 3_000;
/**
 * How long to wait for a store that was away, so that the answer can already say that it is back.
 */
const returnLimitMs = 200;

export interface StoreHealthOptions {
  readonly data: OpenData;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Whether the store of a server works, found by a read of it. */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  #probing: Promise<unknown> | undefined;

  constructor(options: StoreHealthOptions) {
    this.#options = options;
  }

  /** Reads the store once, however many ask at the same time. Resolves within three seconds. */
  async check(): Promise<Exclude<Health, 'closing'>> {
    const { data, logger, timers } = this.#options;
    // The trouble of the store was logged when it began. A store that is away needs a read to
    // notice that it is back.
    const trouble = data.trouble();
    if (trouble instanceof MovedError) return 'moved';
    if (trouble !== undefined && !(trouble instanceof StoreUnavailableError)) return 'failed';
    const late = () => new StoreUnavailableError('The store does not answer in time.');
    const limitMs = trouble === undefined ? probeLimitMs : returnLimitMs;
    try {
      await within(this.#probe(), { limitMs, timers, late });
    } catch (error) {
      if (error instanceof StoreUnavailableError) return 'away';
      logger.error('the store cannot be read', { error });
      return 'failed';
    }
    return data.trouble() === undefined ? 'ok' : 'away';
  }

  #probe(): Promise<unknown> {
    this.#probing ??= this.#options.data.store.get(probeKey).finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }
}
