import { InvalidSettingError } from '../base/invalid-setting-error.js';
import { FaultInjector, type Faults } from '../http/faults/injector.js';
import type { Interceptor } from '../http/pipeline/interceptor.js';
import type { ServiceName } from '../model/services/services.js';
import type { RequestObserver } from '../http/exchange/record.js';
import { blobOperationNames } from '../http/blobs/routes.js';
import { queueOperationNames } from '../http/queues/routes.js';
import { tableOperationNames } from '../http/tables/routes.js';
import { parseThrottle, type ThrottleSetting } from '../http/throttle/limits.js';
import { Throttle } from '../http/throttle/throttle.js';
import type { InterceptorOptions } from './options/failures.js';
import type { ServerSettings } from './settings.js';
import { ServerOptionsError } from './options/server-options-error.js';

/** The limits of a running server. */
export interface ThrottleControl {
  readonly setting: ThrottleSetting;
  /** The number of requests refused since the limits were set. */
  readonly refused: number;
  /** Applies other limits, with full budgets. Throws `InvalidSettingError`. */
  set(setting: ThrottleSetting): void;
}

const operationNames = Object.values<readonly string[]>({
  table: tableOperationNames,
  queue: queueOperationNames,
  blob: blobOperationNames,
} satisfies Record<ServiceName, readonly string[]>).flat();

type Sources = Pick<ServerSettings, 'clock' | 'randomness' | 'timers' | 'observers'>;

/** Throws `ServerOptionsError`. */
export function checkInterceptors(options: InterceptorOptions, sources: Sources): void {
  new Interceptors({}, sources).prepare(options);
}

/** Fault injection and throttling of one server, for all of its services. */
export class Interceptors {
  readonly #faults: FaultInjector;
  readonly #throttle: Throttle;
  readonly list: readonly Interceptor[];
  /**
   * The observers of requests: the given ones, those that were added, and the throttle while it is
   * on. The array is mutated in place, so that servers see changes.
   */
  readonly observers: readonly RequestObserver[];
  readonly #added: RequestObserver[] = [];
  readonly #syncObservers: () => void;

  /** Throws `ServerOptionsError`. */
  constructor(options: InterceptorOptions, { clock, randomness, timers, observers }: Sources) {
    const operations = operationNames;
    this.#faults = new FaultInjector({ randomness, timers, operations });
    const throttle = new Throttle(clock);
    this.#throttle = throttle;
    this.list = [this.#faults, throttle];
    const current: RequestObserver[] = [];
    this.observers = current;
    this.#syncObservers = () => {
      const own = throttle.isActive ? [throttle.observe] : [];
      current.splice(0, current.length, ...observers, ...this.#added, ...own);
    };
    this.#syncObservers();
    this.prepare(options)();
  }

  /** Passes every further record to this observer as well. */
  addObserver(observer: RequestObserver): void {
    this.#added.push(observer);
    this.#syncObservers();
  }

  get faults(): Faults {
    return this.#faults;
  }

  get throttle(): ThrottleControl {
    const [throttle, sync] = [this.#throttle, this.#syncObservers];
    return {
      get setting() {
        return throttle.setting;
      },
      get refused() {
        return throttle.refused;
      },
      set(setting) {
        throttle.set(setting);
        sync();
      },
    };
  }

  /**
   * Validates changes; the returned function applies them and cannot fail. Throws
   * `ServerOptionsError`.
   */
  prepare({ faults, throttle }: InterceptorOptions): () => void {
    try {
      const replace = faults && this.#faults.prepare(faults);
      if (throttle !== undefined) parseThrottle(throttle);
      return () => {
        replace?.();
        if (throttle !== undefined) this.throttle.set(throttle);
      };
    } catch (error) {
      if (error instanceof InvalidSettingError) throw new ServerOptionsError(error.message);
      throw error;
    }
  }
}
