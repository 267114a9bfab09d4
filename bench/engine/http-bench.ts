import { runLoad } from '../load.js';
import { progress } from '../progress.js';
import { startServer } from '../server-process.js';
import { makeTableWorkload, TableData } from '../table-workloads.js';
import type { TableOperation } from '../kinds.js';
import { callersOf, type EngineKind, type EngineMeasurement, type EnginePlan } from './kinds.js';
import { describe } from './report.js';

const operations: Readonly<Record<EngineKind, TableOperation>> = {
  'commit-one': 'insert',
  commit: 'insert',
  get: 'point',
  range: 'range',
  scan: 'scan',
};

/** The cost of the same requests to a server of `node:http` that stores nothing. */
export async function benchHttp(plan: EnginePlan): Promise<readonly EngineMeasurement[]> {
  const server = await startServer('bare', 'table', {});
  try {
    const measurements: EngineMeasurement[] = [];
    for (const kind of plan.kinds) {
      const load = makeTableWorkload(operations[kind], server.target, new TableData(plan.rows));
      const connections = callersOf(kind, plan.callers);
      const warm = { connections, warmupMs: 0, durationMs: plan.warmupMs };
      await runLoad(server.target, load, warm);
      const before = server.usage().cpuSeconds;
      const durationMs = plan.seconds * 1000;
      const result = await runLoad(server.target, load, { connections, warmupMs: 0, durationMs });
      const after = server.usage().cpuSeconds;
      const isKnown = before !== undefined && after !== undefined;
      const measurement: EngineMeasurement = {
        engine: 'http',
        kind,
        opsPerSecond: result.requests / result.seconds,
        cpuMicros: isKnown ? ((after - before) * 1e6) / result.requests : undefined,
        p50Ms: result.p50Ms,
        p99Ms: result.p99Ms,
      };
      progress(describe(measurement));
      measurements.push(measurement);
    }
    return measurements;
  } finally {
    await server.stop();
  }
}
