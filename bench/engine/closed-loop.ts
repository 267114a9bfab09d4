import { quantile } from '../load.js';

export interface LoopOptions {
  readonly callers: number;
  readonly durationMs: number;
  /** Work that is awaited after the last call, before the clock stops. */
  readonly settle?: () => Promise<void>;
}

export interface LoopResult {
  readonly opsPerSecond: number;
  /** Processor time of all threads of this process, for each operation. */
  readonly cpuMicros: number;
  /** The median duration of a call. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Each caller calls again when its call is done. A call counts as this number of operations. */
export async function closedLoop(
  call: () => Promise<number>,
  { callers, durationMs, settle = () => Promise.resolve() }: LoopOptions,
): Promise<LoopResult> {
  const latencies: number[] = [];
  let operations = 0;
  const start = performance.now();
  const before = process.cpuUsage();
  const run = async (): Promise<void> => {
    for (let now = start; now - start < durationMs;) {
      const done = await call();
      operations += done;
      const end = performance.now();
      latencies.push(end - now);
      now = end;
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
  await settle();
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - start) / 1000;
  const sorted = Float64Array.from(latencies).sort();
  return {
    opsPerSecond: operations / seconds,
    cpuMicros: (user + system) / operations,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
}
