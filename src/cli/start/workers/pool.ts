import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { systemClock } from '../../../base/clock.js';
import type { Config } from '../../config/config-file.js';
import { CommandFailure } from '../../terminal/failure.js';
import { systemTimers } from '../../../base/async/timers.js';
import { Heartbeat, missedPulsesMax, pulseEveryMs } from './heartbeat.js';
import { closeUntakenConnections } from './untaken-connections.js';
import { isMessage, samePorts, type Ports, type PrimaryMessage } from './messages.js';
import { adviceAfter, Restarts, type Death } from './restarts.js';
import { workerVariable } from './worker-number.js';

export interface WorkerPoolOptions {
  /** Workers are numbered from 1. */
  readonly count: number;
  /** On which they listen, all on the same. */
  readonly ports: Ports;
  /** What the configuration file says. */
  readonly config: Config;
  readonly log: Logger;
}

/** How long a worker may take to end when it is told to; it cuts requests off well before. */
const stopTimeoutMs = 20_000;
/** How long a worker may take to end when it is cut off from this process; it needs a second. */
const lingerMs = 3_000;
/** How long a worker may take to answer that it has reloaded; it needs milliseconds. */
const reloadTimeoutMs = 10_000;

/** How a worker ends that has finished what it was doing. */
const orderly = 'exit code 0';

/** How the process of a worker ended. */
interface End extends Death {
  readonly pid: number | undefined;
  readonly exit: string;
  /** Why it could not serve, if it said so. */
  readonly failure: string | undefined;
}

/**
 * The worker processes of a primary. Each is replaced when it ends without being told to, until one
 * fails to start too often. `node:cluster` accepts connections in the primary and hands them to the
 * workers in turn.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #stopping = new AbortController();
  /** Processes that have not ended. */
  readonly #alive = new Set<Worker>();
  /** What hands a process no more connections. */
  readonly #handOvers = new WeakMap<Worker, () => void>();
  /** Numbers of workers that have listened. */
  readonly #started = new Set<number>();
  /** Where the workers listen, once one does. */
  #ports: Ports | undefined;
  /** Processes that were told to serve and have not ended. */
  readonly #serving = new Set<Worker>();
  /** What they were told: all the same, or they would share no socket. */
  #told: Ports;
  /** With which workers serve, those that start later as well. */
  #config: Config;
  #allListen: (ports: Ports) => void = () => undefined;
  #places: readonly Promise<void>[] = [];

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#told = options.ports;
    this.#config = options.config;
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /**
   * Resolves when all workers listen. Throws `CommandFailure` when they cannot, for a reason that
   * one of them gives or because they end again and again.
   */
  async start(): Promise<Ports> {
    const allListen = new Promise<Ports>((resolve) => (this.#allListen = resolve));
    const numbers = Array.from({ length: this.#options.count }, (_, at) => at + 1);
    this.#places = numbers.map((number) => this.#keep(number));
    return Promise.race([allListen, this.broken()]);
  }

  /** Throws `CommandFailure` when a worker is not replaced any more. Never resolves. */
  async broken(): Promise<never> {
    await Promise.all(this.#places);
    return new Promise(() => undefined);
  }

  /**
   * Resolves when every worker serves with what can change of this. When one of them does not, all
   * go back to what they had, and it throws `CommandFailure`. One at a time.
   */
  async reload(config: Config): Promise<void> {
    const before = this.#config;
    const failure = await this.#tellAll(config);
    if (failure === undefined) return;
    await this.#tellAll(before);
    throw new CommandFailure(failure);
  }

  /** Those that start later as well. Resolves with why one of them goes on as before, if any. */
  async #tellAll(config: Config): Promise<string | undefined> {
    this.#config = config;
    const answers = [...this.#serving].map((worker) => reloaded(worker, config));
    return (await Promise.all(answers)).find((answer) => answer !== undefined);
  }

  /** Makes every worker open its log again. */
  reopenLogs(): void {
    for (const worker of this.#alive) tell(worker, { kind: 'reopen-log' });
  }

  /** Ends every worker at once. What they have acknowledged stays. */
  kill(): void {
    this.#stopping.abort();
    for (const worker of this.#alive) worker.process.kill('SIGKILL');
  }

  /** Lets requests in flight finish. Resolves when every process has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // A client that is told that its connection closes comes again, and finds nobody.
    for (const worker of this.#alive) this.#handOvers.get(worker)?.();
    for (const worker of this.#alive) tell(worker, { kind: 'stop' });
    const timer = setTimeout(() => this.kill(), stopTimeoutMs);
    await Promise.allSettled(this.#places);
    clearTimeout(timer);
  }

  /** Keeps one worker alive until the pool stops. */
  async #keep(number: number): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    const restarts = new Restarts();
    while (!signal.aborted) {
      const end = await this.#run(number);
      const { pid, exit, failure } = end;
      const hasServed = this.#started.has(number);
      if (signal.aborted) {
        const fields = { worker: number, pid, exit, failure };
        if (hasServed && exit !== orderly) log.warn(fields, 'a worker broke off');
        return;
      }
      if (failure !== undefined && !hasServed) throw new CommandFailure(failure);
      const decision = restarts.after(end);
      log.error(
        { worker: number, pid, exit, failure, next: decision.kind, advice: adviceAfter(exit) },
        'a worker ended unexpectedly',
      );
      if (decision.kind === 'give-up') {
        throw new CommandFailure(
          `Worker ${number} ends again and again before it serves; the last time: ${failure ?? exit}.`,
        );
      }
      await delay(decision.delayMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One process of a worker, from its start to its end. */
  #run(number: number): Promise<End> {
    const worker = cluster.fork({ [workerVariable]: String(number) });
    this.#alive.add(worker);
    this.#handOvers.set(worker, closeUntakenConnections(worker));
    let listeningSinceMs: number | undefined;
    let failure: string | undefined;
    const heartbeat = this.#heartbeatOf(number, worker);
    worker.on('message', (message: unknown) => {
      heartbeat.answered();
      if (isMessage(message, 'ready')) tell(worker, this.#order(worker));
      else if (isMessage(message, 'failed')) failure = message.message;
      else if (isMessage(message, 'listening') && this.#isExpected(worker, message.ports)) {
        listeningSinceMs = systemClock.monotonicMs();
        this.#listens(number, worker, message.ports);
      }
    });
    return new Promise((resolve) => {
      const ended = (exit: string): void => {
        heartbeat.stop();
        this.#alive.delete(worker);
        this.#serving.delete(worker);
        const listenedMs =
          listeningSinceMs === undefined ? undefined : systemClock.monotonicMs() - listeningSinceMs;
        resolve({ listenedMs, pid: worker.process.pid, exit, failure });
      };
      worker.once('exit', (code, signal) => {
        clearTimeout(lingering);
        ended(signal ?? `exit code ${code}`);
      });
      // A worker that hangs in its end keeps its locks, and everybody waits for it.
      let lingering: NodeJS.Timeout | undefined;
      worker.once('disconnect', () => {
        lingering = setTimeout(() => worker.process.kill('SIGKILL'), lingerMs);
      });
      // A process that never was, or a message to one that has just ended.
      worker.on('error', (error) => {
        if (worker.process.pid === undefined) ended(error.message);
      });
    });
  }

  /** Ends a worker that does not answer, so that it is replaced. */
  #heartbeatOf(number: number, worker: Worker): Heartbeat {
    return new Heartbeat({
      timers: systemTimers,
      ask: () => tell(worker, { kind: 'pulse' }),
      lost: () => {
        const { pid } = worker.process;
        const seconds = (pulseEveryMs * missedPulsesMax) / 1000;
        this.#options.log.error(
          { worker: number, pid, seconds },
          'a worker does not answer: it is ended',
        );
        worker.process.kill('SIGKILL');
      },
    });
  }

  /** What a worker that has just become ready is to do. */
  #order(worker: Worker): PrimaryMessage {
    if (this.#stopping.signal.aborted) return { kind: 'stop' };
    // The shared socket closes with the last of them; the next one opens it where it was.
    if (this.#serving.size === 0 && this.#ports !== undefined) this.#told = this.#ports;
    this.#serving.add(worker);
    return { kind: 'serve', ports: this.#told, config: this.#config };
  }

  /** A worker elsewhere, where no client looks for it, has to start again. */
  #isExpected(worker: Worker, ports: Ports): boolean {
    if (this.#ports === undefined || samePorts(this.#ports, ports)) return true;
    worker.process.kill('SIGKILL');
    return false;
  }

  #listens(number: number, worker: Worker, ports: Ports): void {
    this.#ports = ports;
    this.#started.add(number);
    this.#options.log.info({ worker: number, pid: worker.process.pid }, 'a worker listens');
    if (this.#started.size === this.#options.count) this.#allListen(ports);
  }
}

/** A worker that is gone hears nothing; its end is noticed elsewhere. */
function tell(worker: Worker, message: PrimaryMessage): void {
  worker.send(message, () => undefined);
}

/** Why a worker goes on as before; undefined when it has reloaded, or has ended meanwhile. */
function reloaded(worker: Worker, config: Config): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (failure: string | undefined): void => {
      clearTimeout(timer);
      worker.off('message', answered);
      worker.off('exit', gone);
      resolve(failure);
    };
    const answered = (message: unknown): void => {
      if (isMessage(message, 'reloaded')) end(message.failure);
    };
    const gone = (): void => end(undefined);
    const timer = setTimeout(end, reloadTimeoutMs, 'A worker does not answer.');
    worker.on('message', answered);
    worker.once('exit', gone);
    tell(worker, { kind: 'reload', config });
  });
}
