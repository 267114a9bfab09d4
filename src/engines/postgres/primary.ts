import { setMaxListeners } from 'node:events';
import { backOff } from '../../base/async/back-off.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import { codeOf } from '../../base/thrown.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { DatabaseError, preparedCodes, reasonOf } from './database-error.js';
import { shownAddress } from './hosts.js';
import { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import { isStandby } from './server-settings.js';

export interface PrimaryOptions {
  /** In the order in which they are tried, behind the one that took writes last. */
  readonly addresses: readonly string[];
  readonly prepares: boolean;
  readonly isRelaxed: boolean;
  readonly idleInTransactionMs: number | undefined;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /**
   * Called with the reason when no primary answers any more, and with undefined when one answers
   * again.
   */
  readonly onTrouble: (trouble: StoreUnavailableError | undefined) => void;
}

/** How a caller looks for a server. */
interface Search {
  /** The time until which it tries, by the monotonic clock. */
  readonly endMs: number;
  readonly pipelines?: boolean;
  /** Aborted when the caller needs no connection any more. */
  readonly signal?: AbortSignal;
  /** Whether it gives up when no further attempt helps. */
  readonly isFirst?: boolean;
}

/** The least time that a caller tries. */
const leastMs = 1_000;
/** The pause before the servers are tried although no caller waits for one. */
const lookMs = 5_000;
const backOffMs = { first: 20, last: 1_000 };

/** Finds the server that takes writes. */
export class Primary implements ConnectionSource {
  readonly retries: ConnectionSource['retries'];
  readonly #options: PrimaryOptions;
  #trouble: StoreUnavailableError | undefined;
  /** When the trouble began. */
  #troubleMs: number | undefined;
  /** The place of the server that took writes last. */
  #last = 0;
  #looking: Timer | undefined;
  readonly #closing = new AbortController();

  constructor(options: PrimaryOptions) {
    const { timers, randomness } = options;
    this.#options = options;
    this.retries = { backOffMs, timers, randomness };
    // Each connection that is being opened adds a listener.
    setMaxListeners(0, this.#closing.signal);
  }

  get trouble(): StoreUnavailableError | undefined {
    return this.#trouble;
  }

  /** Aborted by `close`. For work on connections before they are used. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Refuses further connections, and destroys those that are being opened: their calls reject with
   * `StoreClosedError`.
   */
  close(): void {
    this.#closing.abort();
    this.#looking?.close();
  }

  /**
   * Tries all servers in turn until one takes writes. Rejects with `StoreUnavailableError` when
   * none has done so for `limitMs`, counted from the begin of the trouble; but every call tries for
   * a second at least.
   */
  async connect(limitMs: number, pipelines = false): Promise<Connection> {
    const nowMs = this.#options.clock.monotonicMs();
    const endMs = Math.max((this.#troubleMs ?? nowMs) + limitMs, nowMs + leastMs);
    return this.#connect({ endMs, pipelines });
  }

  /**
   * As `connect`, but always tries for `limitMs`, even when there is trouble already. When the
   * signal is aborted, ends as after `close`.
   */
  async connectPatiently(limitMs: number, signal: AbortSignal): Promise<Connection> {
    return this.#connect({ endMs: this.#options.clock.monotonicMs() + limitMs, signal });
  }

  /**
   * As `connectPatiently`, but rejects at once when waiting cannot help: at least one host refuses
   * for a lasting reason, such as a wrong password, and all others do too or are standbys.
   */
  async connectFirst(limitMs: number): Promise<Connection> {
    const endMs = this.#options.clock.monotonicMs() + limitMs;
    return this.#connect({ endMs, isFirst: true });
  }

  async #connect({ endMs, pipelines = false, signal, isFirst }: Search): Promise<Connection> {
    const { clock, timers, randomness } = this.#options;
    const over = signal === undefined ? this.closing : AbortSignal.any([this.closing, signal]);
    for (let failures = 1; ; failures += 1) {
      const found = await this.#findOnce(pipelines, over);
      if (over.aborted) {
        if (found instanceof Connection) found.destroy();
        if (this.#trouble !== undefined) this.#lookLater();
        throw new StoreClosedError();
      }
      if (found instanceof Connection) return found;
      this.#note(found);
      if (isFirst === true && isRefused(found.cause)) throw found;
      const delayMs = backOff(backOffMs, failures, randomness);
      if (clock.monotonicMs() + delayMs >= endMs) {
        if (isFirst !== true) this.#lookLater();
        throw found;
      }
      await sleep(timers, delayMs, over);
    }
  }

  /**
   * Looks for a server again when all callers have given up. The connections that are open may
   * still serve every call, so that nobody else would notice the end of the trouble.
   */
  #lookLater(): void {
    if (this.#looking !== undefined || this.closing.aborted) return;
    const look = (): void => {
      this.#looking = undefined;
      if (this.#trouble !== undefined) void this.#look();
    };
    this.#looking = this.#options.timers.start(lookMs, look, undefined);
  }

  async #look(): Promise<void> {
    const found = await this.#findOnce(false, this.closing);
    if (!(found instanceof Connection)) return this.#lookLater();
    await found.close();
  }

  /** Tries the server that took writes last, then the others in order. One ends the trouble. */
  async #findOnce(
    pipelines: boolean,
    over: AbortSignal,
  ): Promise<Connection | StoreUnavailableError> {
    const { addresses, prepares, isRelaxed, idleInTransactionMs, timers } = this.#options;
    const own = { prepares, pipelines, isRelaxed, idleInTransactionMs, timers };
    const reasons: string[] = [];
    const failures: unknown[] = [];
    for (const [at, address] of [...addresses.entries()].sort(firstAt(this.#last))) {
      try {
        const connection = await Connection.open({ ...own, address }, over);
        const standsBy = await connection.prepare(() => isStandby(connection, isRelaxed), over);
        if (!standsBy) {
          this.#last = at;
          if (!this.closing.aborted) this.#note(undefined);
          return connection;
        }
        connection.destroy();
        reasons.push(`${shownAddress(address)} is a standby`);
      } catch (error) {
        failures.push(error);
        reasons.push(`${shownAddress(address)}: ${reasonOf(error)}`);
      }
    }
    // Prefers the error of a host that may answer later.
    const cause = failures.find((each) => !isRefused(each)) ?? failures[0];
    return new StoreUnavailableError(`No database takes writes: ${reasons.join('; ')}`, { cause });
  }

  #note(trouble: StoreUnavailableError | undefined): void {
    const isChange = (trouble === undefined) !== (this.#trouble === undefined);
    this.#trouble = trouble;
    if (isChange) this.#troubleMs = trouble && this.#options.clock.monotonicMs();
    if (isChange) this.#options.onTrouble(trouble);
  }
}

/** Orders entries of a list so that one place comes first; the others keep their order. */
function firstAt(place: number) {
  return ([left]: readonly [number, unknown], [right]: readonly [number, unknown]): number =>
    Number(right === place) - Number(left === place);
}

/**
 * Whether an error is permanent: no such user or database, a wrong password, no right to connect,
 * an unsuitable setting, a pooler that shares connections.
 */
function isRefused(error: unknown): boolean {
  if (error instanceof DatabaseError) return true;
  const code = codeOf(error) ?? '';
  return code.startsWith('28') || ['3D000', '42501', ...preparedCodes].includes(code);
}
