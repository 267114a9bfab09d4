import { createConnection, type Socket } from 'node:net';
import type { Target } from './http-request.js';
import { ResponseReader, type ResponseListener } from './response-reader.js';

interface Requests {
  /** The next request of a connection, or `undefined` when there is no more to send. */
  next(connection: number): Buffer | undefined;
}

/** The requests and the expected answer: a benchmark of error answers would be worthless. */
export interface UniformWorkload extends Requests {
  readonly status: number;
  /** How often `marker` must occur in a body: proof that the rows asked for came. */
  readonly marker: string;
  readonly occurrences: number;
}

/** A workload whose next request depends on earlier answers. */
export interface DialogueWorkload extends Requests {
  /**
   * Takes an answer and tells how many units of work are done with it. Throws when it is not what
   * was asked for.
   */
  answered(connection: number, status: number, body: readonly Buffer[], bytes: number): number;
  /** Whether bodies of good answers are counted and not kept: they are too long. */
  readonly discardsBodies?: boolean;
}

export type Workload = UniformWorkload | DialogueWorkload;

export interface LoadOptions {
  readonly connections: number;
  /** Unmeasured time before the clock starts. */
  readonly warmupMs: number;
  /** Measured time; `Infinity` runs until the workload ends. */
  readonly durationMs: number;
}

/** A load that is measured, and a concurrent one on connections of its own. */
export interface LoadPair {
  readonly measured: Workload;
  readonly beside?: { readonly workload: Workload; readonly connections: number };
}

/** The figures are those of the measured load, but for `answered`, which is of both. */
export interface PairResult extends LoadResult {
  readonly requestsBeside: number;
}

export interface LoadResult {
  readonly requests: number;
  /** All requests of the run: those that were answered before and behind the measured time too. */
  readonly answered: number;
  /** The completed requests, or the units that a dialogue counts instead. */
  readonly units: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of this process as a share of one core: near 1, the load is the bottleneck. */
  readonly loadCpuShare: number;
}

/** One body in this many is read; of every answer at least the status is checked. */
const sampleInterval = 16;
const shownBytesMax = 600;

/** How often a text is in a body. */
export function occurrences(body: readonly Buffer[], marker: string): number {
  const whole = Buffer.concat(body);
  const needle = Buffer.from(marker);
  let count = 0;
  for (let at = whole.indexOf(needle); at !== -1; at = whole.indexOf(needle, at + needle.length)) {
    count += 1;
  }
  return count;
}

/** Complains about an answer with another status. */
export function expectStatus(status: number, expected: number, body: readonly Buffer[]): void {
  if (status === expected) return;
  const text = Buffer.concat(body).toString('utf8', 0, shownBytesMax);
  throw new Error(`Expected status ${expected}, got ${status}: ${text}`);
}

/** Complains when an answer is not the one that the workload promises. */
function verify(
  workload: UniformWorkload,
  status: number,
  body: readonly Buffer[],
  deep: boolean,
): void {
  const found = status === workload.status && deep ? occurrences(body, workload.marker) : undefined;
  if (status === workload.status && (found ?? workload.occurrences) === workload.occurrences)
    return;
  const text = Buffer.concat(body).toString('utf8', 0, shownBytesMax);
  throw new Error(
    `Expected status ${workload.status} with ${workload.occurrences} × ${workload.marker}, ` +
      `got status ${status} with ${found ?? 'unknown'}: ${text}`,
  );
}

/** The value below which the given share of the sorted values lies. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Takes an answer and tells how many units of work are done with it. Throws at a wrong one. */
export type Acceptance = (
  connection: number,
  status: number,
  body: readonly Buffer[],
  bytes: number,
) => number;

export function acceptanceOf(workload: Workload): Acceptance {
  let sequence = 0;
  return (connection, status, body, bytes) => {
    if ('answered' in workload) return workload.answered(connection, status, body, bytes);
    sequence += 1;
    verify(workload, status, body, sequence % sampleInterval === 1);
    return 1;
  };
}

/** Reads the answers to a workload. */
export function readerFor(workload: Workload, listener: ResponseListener): ResponseReader {
  const discardsBodies = 'answered' in workload && workload.discardsBodies === true;
  return new ResponseReader(listener, { discardsBodies });
}

/**
 * A closed loop over keep-alive connections: each sends its next request when it has its answer.
 */
class LoadRun {
  readonly #workload: Workload;
  readonly #accept: Acceptance;
  readonly #latencies: number[] = [];
  #units = 0;
  #answered = 0;
  #recording = false;
  #stopping = false;

  constructor(workload: Workload) {
    this.#workload = workload;
    this.#accept = acceptanceOf(workload);
  }

  startClock(): void {
    this.#latencies.length = 0;
    this.#units = 0;
    this.#recording = true;
  }

  get answered(): number {
    return this.#answered;
  }

  /** Ends the measured time; requests under way are still answered and checked. */
  stop(): { readonly latencies: Float64Array; readonly units: number } {
    this.#recording = false;
    this.#stopping = true;
    return { latencies: Float64Array.from(this.#latencies).sort(), units: this.#units };
  }

  /** Runs one connection until the run stops or the workload ends. */
  drive(target: Target, connection: number): Promise<void> {
    const { promise, resolve, reject } = promiseParts();
    const socket = createConnection(target.port, target.host);
    let sentAt = 0;
    const send = (): void => {
      const request = this.#stopping ? undefined : this.#workload.next(connection);
      if (request === undefined) {
        socket.destroy();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(request);
    };
    const reader = readerFor(this.#workload, (status, body, bytes) => {
      const latency = performance.now() - sentAt;
      const units = this.#accept(connection, status, body, bytes);
      this.#answered += 1;
      if (this.#recording) {
        this.#latencies.push(latency);
        this.#units += units;
      }
      send();
    });
    listen(socket, reader, send, reject);
    return promise;
  }
}

interface PromiseParts {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

function promiseParts(): PromiseParts {
  let resolve: () => void = () => {};
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/** Answers go to the reader. `fail` is called when the connection breaks or the reader throws. */
export function listen(
  socket: Socket,
  reader: ResponseReader,
  onConnect: () => void,
  fail: (reason: Error) => void,
): void {
  socket.setNoDelay(true);
  socket.on('connect', onConnect);
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('The server closed a connection under load.')));
  socket.on('data', (data) => {
    try {
      reader.push(data);
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
      socket.destroy();
    }
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sends the workload and measures. Throws at the first answer that is not the expected one. */
export async function runLoad(
  target: Target,
  workload: Workload,
  options: LoadOptions,
): Promise<LoadResult> {
  const run = new LoadRun(workload);
  const connections = Array.from({ length: options.connections }, (_, index) =>
    run.drive(target, index),
  );
  const all = Promise.all(connections);
  await Promise.race([sleep(options.warmupMs), all]);
  const cpuStart = process.cpuUsage();
  const start = performance.now();
  run.startClock();
  await (options.durationMs === Infinity ? all : Promise.race([sleep(options.durationMs), all]));
  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuStart);
  const { latencies, units } = run.stop();
  await all;
  return {
    requests: latencies.length,
    answered: run.answered,
    units,
    seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    loadCpuShare: (cpu.user + cpu.system) / 1e6 / seconds,
  };
}

/** As `runLoad`; the load beside it begins and ends with it. */
export async function runLoads(
  target: Target,
  { measured, beside }: LoadPair,
  options: LoadOptions,
): Promise<PairResult> {
  const other =
    beside === undefined
      ? undefined
      : runLoad(target, beside.workload, { ...options, connections: beside.connections });
  const [result, otherResult] = await Promise.all([runLoad(target, measured, options), other]);
  const answered = result.answered + (otherResult?.answered ?? 0);
  return { ...result, answered, requestsBeside: otherResult?.requests ?? 0 };
}
