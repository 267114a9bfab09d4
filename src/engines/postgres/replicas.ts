import { backOff } from '../../base/async/back-off.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import type { Randomness } from '../../base/randomness.js';
import { messageOf } from '../../base/thrown.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { shownAddress } from './hosts.js';
import { Link } from './link.js';
import type { LinkSource } from './link-source.js';

export interface ReplicasOptions {
  /** In the order in which they are tried. */
  readonly addresses: readonly string[];
  readonly prepares: boolean;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

const backOffMs = { first: 20, last: 500 };

/**
 * Standbys that are read from. One of them is used as long as it answers, so that what it is said
 * to have is what is read. None of them is waited for: the primary can be asked instead.
 */
export class Replicas implements LinkSource {
  readonly #options: ReplicasOptions;
  #current = 0;
  #isClosed = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  close(): void {
    this.#isClosed = true;
  }

  async connect(_limitMs: number, pipelines = false): Promise<Link> {
    const { addresses, prepares, timers } = this.#options;
    const reasons: string[] = [];
    let cause: unknown;
    for (let tried = 0; tried < addresses.length; tried += 1) {
      if (this.#isClosed) throw new StoreClosedError();
      const at = (this.#current + tried) % addresses.length;
      const address = addresses[at] ?? '';
      try {
        const link = await Link.open({ address, prepares, pipelines, isRelaxed: false, timers });
        this.#current = at;
        return link;
      } catch (error) {
        cause = error;
        reasons.push(`${shownAddress(address)}: ${messageOf(error)}`);
      }
    }
    throw new StoreUnavailableError(`No standby answers: ${reasons.join('; ')}`, { cause });
  }

  pause(failures: number): Promise<void> {
    const { timers, randomness } = this.#options;
    return sleep(timers, backOff(backOffMs, failures, randomness));
  }
}
