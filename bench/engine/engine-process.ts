// One engine in a process of its own, whose processor time is the engine's: `engine-process.js
// ENGINE PLAN`, the plan as JSON. Sends its measurements one by one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { progress } from '../progress.js';
import type { LoopResult } from './closed-loop.js';
import { FileBench } from './file-bench.js';
import {
  engineNames,
  isStoreName,
  type EngineKind,
  type EngineMeasurement,
  type EngineName,
  type EnginePlan,
} from './kinds.js';
import { describe } from './report.js';
import { StoreBench } from './store-bench.js';
import { storeEngines } from './stores.js';

/** The subject of the measurement: a store, or a bare file, which only takes commits. */
interface Measured {
  measure(kind: EngineKind): Promise<LoopResult>;
  close(): Promise<void>;
}

const [, , nameText, planText = '{}'] = process.argv;
const engine: EngineName = engineNames.find((name) => name === nameText) ?? 'memory';
const plan = JSON.parse(planText) as EnginePlan;

async function opened(directory: string): Promise<Measured> {
  if (!isStoreName(engine)) return FileBench.open(directory, plan);
  const bench = await StoreBench.open(storeEngines[engine], directory, plan);
  await bench.fill(engine);
  return bench;
}

const directory = mkdtempSync(join(tmpdir(), `tabularium-bench-engine-${engine}-`));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const abandon = (): void => process.exit(1);
process.on('disconnect', abandon);
process.on('SIGINT', abandon);

const measured = await opened(directory);
for (const kind of plan.kinds) {
  const result = await measured.measure(kind);
  const measurement: EngineMeasurement = { engine, kind, ...result };
  progress(describe(measurement));
  process.send?.(measurement);
}
await measured.close();
process.off('disconnect', abandon);
process.disconnect();
