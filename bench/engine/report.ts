import { row, shortNumber } from '../figures.js';
import { titleOf, type EngineMeasurement, type EnginePlan } from './kinds.js';

export function describe({ engine, kind, opsPerSecond, cpuMicros }: EngineMeasurement): string {
  return `${engine}, ${kind}: ${shortNumber(opsPerSecond)} /s, ${shortNumber(cpuMicros)} µs each`;
}

/** Kind by kind, a row for each engine. */
export function engineTable(
  measurements: readonly EngineMeasurement[],
  { kinds, callers }: Pick<EnginePlan, 'kinds' | 'callers'>,
): string {
  const head = ['kind', 'engine', 'ops/s', 'CPU µs/op', 'p50 ms', 'p99 ms'];
  const rows = kinds.flatMap((kind) =>
    measurements
      .filter((one) => one.kind === kind)
      .map(({ engine, opsPerSecond, cpuMicros, p50Ms, p99Ms }) => {
        const numbers = [opsPerSecond, cpuMicros, p50Ms, p99Ms].map(shortNumber);
        return row([titleOf(kind, callers), engine, ...numbers]);
      }),
  );
  const rule = row(['---', '---', ...head.slice(2).map(() => '---:')]);
  return [row(head), rule, ...rows].join('\n');
}
