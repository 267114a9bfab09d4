import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import { deferred } from '../../../base/async/deferred.js';
import { systemClock } from '../../../base/clock.js';
import type { Config } from '../../config/config-file.js';
import { CommandFailure } from '../../terminal/failure.js';
import { sleep } from '../../../base/async/sleep.js';
import { holdingTimers, systemTimers, timerMsMax } from '../../../base/async/timers.js';
import { Heartbeat, missedPulsesMax, pulseEveryMs } from './heartbeat.js';
import { closeUntakenConnections } from './untaken-connections.js';
import { isMessage, samePorts, type Ports, type PrimaryMessage } from './messages.js';
import { adviceAfter, Restarts, type WorkerExit } from './restarts.js';
import { workerVariable } from './worker-number.js';

export interface WorkerPoolOptions {
  /** Workers are numbered from 1. */
  readonly count: number;
  /** The common ports of all workers. */
  readonly ports: Ports;
  /** The configuration file's content. */
  readonly config: Config;
  readonly log: Logger;
  /** How long a worker may take to stop; it cuts requests off well before. */
  readonly stopMsMax: number;
}

/** How long a disconnected worker may take to exit; it needs a second. */
const lingerMs = 3_000;
/** How long a worker may take to confirm a reload; it needs milliseconds. */
const reloadTimeoutMs = 10_000;

/** The end of a worker that has finished its work. */
const orderly = 'exit code 0';

/** How the process of a worker ended. */
interface End extends WorkerExit {
  readonly pid: number | undefined;
  readonly exit: string;
  /** The reason why it could not serve, if it gave one. */
  readonly failure: string | undefined;
}

/**
 * The worker processes of a primary. Each is replaced when it exits unexpectedly, until one fails
 * to start too often. `node:cluster` accepts connections in the primary and distributes them in
 * turn.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #stopping = new AbortController();
  /** Processes that have not exited. */
  readonly #alive = new Set<Worker>();
  /** Functions that stop the distribution of connections to a process. */
  readonly #handOvers = new WeakMap<Worker, () => void>();
  /** Numbers of workers that have listened. */
  readonly #started = new Set<number>();
  /** The ports of the workers, once one listens. */
  #ports: Ports | undefined;
  /** Processes that serve and have not exited. */
  readonly #serving = new Set<Worker>();
  /** The ports that all serve: with different ones they would not share sockets. */
  #assignedPorts: Ports;
  /** The configuration of workers, also of those that start later. */
  #config: Config;
  readonly #allListen = deferred<Ports>();
  #places: readonly Promise<void>[] = [];

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#assignedPorts = options.ports;
    this.#config = options.config;
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /**
   * Resolves when all workers listen. Throws `CommandFailure` with the reason of a worker that
   * cannot serve, or when workers exit again and again.
   */
  async start(): Promise<Ports> {
    const numbers = Array.from({ length: this.#options.count }, (_, at) => at + 1);
    this.#places = numbers.map((number) => this.#keep(number));
    return Promise.race([this.#allListen.promise, this.broken()]);
  }

  /** Throws `CommandFailure` when a worker is not replaced any more. Never resolves. */
  async broken(): Promise<never> {
    await Promise.all(this.#places);
    return new Promise(() => undefined);
  }

  /**
   * Resolves when every worker has applied the changes. When one fails, all return to the old
   * configuration, and this throws `CommandFailure`. One at a time.
   */
  async reload(config: Config): Promise<void> {
    const before = this.#config;
    const failure = await this.#reloadAll(config);
    if (failure === undefined) return;
    await this.#reloadAll(before);
    throw new CommandFailure(failure);
  }

  /**
   * Also configures workers that start later. Resolves with the reason why a worker keeps its
   * settings, if any.
   */
  async #reloadAll(config: Config): Promise<string | undefined> {
    this.#config = config;
    const answers = [...this.#serving].map((worker) => reloaded(worker, config));
    return (await Promise.all(answers)).find((answer) => answer !== undefined);
  }

  /** Makes every worker open its log again. */
  reopenLogs(): void {
    for (const worker of this.#alive) send(worker, { kind: 'reopen-log' });
  }

  /** Kills every worker. Acknowledged writes are not lost. */
  kill(): void {
    this.#stopping.abort();
    for (const worker of this.#alive) worker.process.kill('SIGKILL');
  }

  /** Lets requests in flight finish. Resolves when all processes have exited. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // Clients whose connection closes reconnect, and must be refused.
    for (const worker of this.#alive) this.#handOvers.get(worker)?.();
    for (const worker of this.#alive) send(worker, { kind: 'stop' });
    const timer = setTimeout(() => this.kill(), Math.min(this.#options.stopMsMax, timerMsMax));
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
      await sleep(holdingTimers, decision.delayMs, signal);
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
      if (isMessage(message, 'ready')) send(worker, this.#order(worker));
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
      // A worker that hangs at its end would keep its locks and block all others.
      let lingering: NodeJS.Timeout | undefined;
      worker.once('disconnect', () => {
        lingering = setTimeout(() => worker.process.kill('SIGKILL'), lingerMs);
      });
      // Failures to spawn, and messages to a process that has just exited.
      worker.on('error', (error) => {
        if (worker.process.pid === undefined) ended(error.message);
      });
    });
  }

  /** Kills a worker that does not answer, so that it is replaced. */
  #heartbeatOf(number: number, worker: Worker): Heartbeat {
    return new Heartbeat({
      timers: systemTimers,
      ask: () => send(worker, { kind: 'pulse' }),
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

  /** The first message to a worker that has become ready. */
  #order(worker: Worker): PrimaryMessage {
    if (this.#stopping.signal.aborted) return { kind: 'stop' };
    // The shared socket closes with the last worker; the next one must open the same port.
    if (this.#serving.size === 0 && this.#ports !== undefined) this.#assignedPorts = this.#ports;
    this.#serving.add(worker);
    return { kind: 'serve', ports: this.#assignedPorts, config: this.#config };
  }

  /** A worker with other ports must restart. */
  #isExpected(worker: Worker, ports: Ports): boolean {
    if (this.#ports === undefined || samePorts(this.#ports, ports)) return true;
    worker.process.kill('SIGKILL');
    return false;
  }

  #listens(number: number, worker: Worker, ports: Ports): void {
    this.#ports = ports;
    this.#started.add(number);
    this.#options.log.info({ worker: number, pid: worker.process.pid }, 'a worker listens');
    if (this.#started.size === this.#options.count) this.#allListen.resolve(ports);
  }
}

/** Messages to an exited worker are lost; its exit is handled elsewhere. */
function send(worker: Worker, message: PrimaryMessage): void {
  worker.send(message, () => undefined);
}

/** Why a worker keeps its settings; undefined when it has reloaded or exited. */
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
    send(worker, { kind: 'reload', config });
  });
}
