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
  readonly data: Pick<OpenData, 'trouble' | 'checkContentPlace'> & {
    readonly store: Pick<OpenData['store'], 'get'>;
  };
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Whether the store of a server works, and whether its content can be written. */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  #probing: Promise<unknown> | undefined;
  #checking: Promise<void> | undefined;
  /** Whether the content could not be written when it was last looked at, which was logged. */
  #isContentAmiss = false;

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
    // Both are looked at together, so that their waits do not add up.
    const content = this.#isContentSound();
    try {
      await within(this.#probe(), { limitMs, timers, late });
    } catch (error) {
      if (error instanceof StoreUnavailableError) return 'away';
      logger.error('the store cannot be read', { error });
      return 'failed';
    }
    if (data.trouble() !== undefined) return 'away';
    return (await content) ? 'ok' : 'failed';
  }

  /** Looks at the content once, however many ask at the same time. A late answer counts as none. */
  async #isContentSound(): Promise<boolean> {
    const { timers } = this.#options;
    const late = () => new Error('The content does not answer in time.');
    try {
      await within(this.#checkContent(), { limitMs: probeLimitMs, timers, late });
      this.#noteContent(undefined);
      return true;
    } catch (error) {
      this.#noteContent(error);
      return false;
    }
  }

  #checkContent(): Promise<void> {
    this.#checking ??= this.#options.data.checkContentPlace().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  #noteContent(error: unknown): void {
    const { logger } = this.#options;
    const isAmiss = error !== undefined;
    if (isAmiss === this.#isContentAmiss) return;
    this.#isContentAmiss = isAmiss;
    if (isAmiss) logger.error('the bytes of large blobs cannot be stored', { error });
    else logger.info('the bytes of large blobs can be stored again');
  }

  #probe(): Promise<unknown> {
    this.#probing ??= this.#options.data.store.get(probeKey).finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }
}
