import { endsWithin } from '../base/async/deadline.js';
import type { ReadWriteLock } from '../base/async/read-write-lock.js';
import type { Timer, Timers } from '../base/async/timers.js';
import type { Clock } from '../base/clock.js';
import type { Store } from '../kv/store.js';
import { intervalMicros, intervalStart } from '../model/analytics/metrics-table.js';
import { AnalyticsObserver } from '../http/analytics/analytics-observer.js';
import type { RequestObserver } from '../http/exchange/record.js';
import type { Logger } from '../http/exchange/logger.js';
import { LogWriter } from '../services/analytics/log-writer.js';
import { serviceNames } from '../model/services/services.js';
import { MetricsWriter } from '../services/analytics/metrics-writer.js';
import { RequestMetrics } from '../services/analytics/request-metrics.js';
import type { Backend } from './backend.js';

export interface AnalyticsOptions {
  readonly store: Store;
  /** The current services: they are asked for at each use. */
  readonly services: Pick<Backend, 'tables' | 'properties' | 'logs'>;
  /** The data must not be replaced while something is written. */
  readonly lock: ReadWriteLock;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Bytes of lines of logs that are written before the minute ends. A write takes some milliseconds,
 * whatever it has: for each of few lines that is more than the line.
 */
const logBytesSoon = 2 * 1024 * 1024;
/** Bytes that are written without a pause after the last write: more would soon be dropped. */
const logBytesAtOnce = 4 * 1024 * 1024;

/** The time between two writes: to the end of the minute, but never less than this. */
const waitMsMin = 1_000;

/**
 * Storage Analytics of one process (blob-service §21, §22): counts the requests that it has served,
 * and adds the counts to the tables of metrics in each minute and in the end. Lines of logs are
 * written then as well, and earlier when there are many. A process that is killed loses the counts
 * and lines of its last minute.
 */
export class Analytics {
  readonly observe: RequestObserver;
  readonly #options: AnalyticsOptions;
  readonly #metrics = new RequestMetrics();
  readonly #writer: MetricsWriter;
  readonly #logs: LogWriter;
  readonly #observer: AnalyticsObserver;
  /** The accounts whose hours it closes, where the process owns the data. */
  #accounts: () => readonly string[] = () => [];
  #hourMicros: number;
  #timer: Timer | undefined;
  /** Lines are written before the minute ends once they have this many bytes. */
  #logBytesFrom = logBytesSoon;
  #pause: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: AnalyticsOptions) {
    const { store, services, clock } = options;
    this.#options = options;
    this.#writer = new MetricsWriter({ store, services });
    this.#logs = new LogWriter(services);
    const observing = { metrics: this.#metrics, logs: this.#logs, services, clock };
    const observer = new AnalyticsObserver(observing);
    this.#observer = observer;
    this.observe = (record) => {
      observer.observe(record);
      if (this.#logs.bytes >= this.#logBytesFrom) this.#writeSoon();
    };
    this.#hourMicros = this.#hour();
  }

  /** Reads what is to be counted and logged, before there are requests. Never rejects. */
  async prepare(accounts: readonly string[]): Promise<void> {
    const { properties } = this.#options.services;
    for (const account of accounts) {
      await Promise.all(serviceNames.map((service) => properties.load(service, account)));
    }
  }

  /** Writes in each minute from now on. */
  start(): void {
    const { clock, timers } = this.#options;
    const intoMinute = clock.nowMicros() % intervalMicros.Minute;
    const waitMs = Math.ceil((intervalMicros.Minute - intoMinute) / 1000);
    this.#timer = timers.start(Math.max(waitMs, waitMsMin), this.#tick, undefined);
  }

  /** As `start`; also makes the row of an hour without requests. One process does so. */
  startAsOwner(accounts: () => readonly string[]): void {
    this.#accounts = accounts;
    this.start();
  }

  /** The data were replaced: what was counted before is not part of them. */
  discard(): void {
    this.#metrics.take();
    this.#writer.discard();
    this.#observer.flush();
    this.#logs.discard();
  }

  /**
   * Writes what was counted, a last time. The store must still be open. Waits for that for at most
   * `limitMs`, because a disk or a store that does not answer may hold it up. What is written later
   * fails when the store is closed.
   */
  async stop(limitMs: number): Promise<void> {
    this.#isStopped = true;
    this.#timer?.close();
    const { timers, logger } = this.#options;
    const isOver = await endsWithin(this.#write(), { limitMs, timers });
    this.#pause?.close();
    if (isOver) return;
    logger.warn(
      'writing metrics and logs of requests has not ended: the stop goes on, and the last of them ' +
        'may be lost',
    );
  }

  readonly #tick = (): void => {
    void this.#write().finally(() => {
      if (!this.#isStopped) this.start();
    });
  };

  /** One write at a time. Never rejects. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeAll());
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { lock, logger } = this.#options;
    const dropped = this.#writer.add(this.#metrics.take());
    if (dropped > 0) logger.warn('metrics that could not be written were dropped', { dropped });
    try {
      await lock.read(() => this.#writer.write());
      await this.#closeHour();
    } catch (error) {
      logger.warn('metrics could not be written', { error });
    }
    await this.#writeLogs();
  }

  /** False when some lines could not be written. */
  async #writeLogs(): Promise<boolean> {
    const logs = this.#logs;
    const { lock, logger } = this.#options;
    this.#observer.flush();
    let isWritten = true;
    try {
      await lock.read(() => logs.write());
    } catch (error) {
      isWritten = false;
      logger.warn('logs of requests could not be written', { error });
    }
    const dropped = logs.takeDropped();
    if (dropped > 0) logger.warn('lines of logs of requests were dropped', { dropped });
    return isWritten;
  }

  /** Writes the logs; the next lines wait for a while, unless they are many. */
  #writeSoon(): void {
    this.#logBytesFrom = Infinity;
    this.#pause?.close();
    this.#writing = this.#writing.then(() => this.#writeMany());
  }

  async #writeMany(): Promise<void> {
    if (await this.#writeLogs()) this.#logBytesFrom = logBytesAtOnce;
    if (this.#isStopped) return;
    const waitOn = () => {
      this.#logBytesFrom = logBytesSoon;
    };
    this.#pause = this.#options.timers.start(waitMsMin, waitOn, undefined);
  }

  /** The hour that ended while this process ran. */
  async #closeHour(): Promise<void> {
    const ended = this.#hourMicros;
    const hour = this.#hour();
    if (hour === ended) return;
    const { lock } = this.#options;
    await lock.read(() => this.#writer.closeHour(this.#accounts(), ended));
    this.#hourMicros = hour;
  }

  #hour(): number {
    return intervalStart('Hour', this.#options.clock.nowMicros());
  }
}
