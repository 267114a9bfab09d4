import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BaselineGuard } from './baseline/guard.js';
import { machineLine } from './figures.js';
import { services, serviceOf } from './kinds.js';
import { parseOptions, usage, type BenchOptions } from './options.js';
import { stopServersAtEnd } from './server-process.js';
import { benchService, type ServiceResults } from './service-bench.js';

/** Exit codes, of which others may depend. */
const exitCodes = { good: 0, worse: 1, unknown: 2 } as const;

/** The exit code. */
async function run(options: BenchOptions): Promise<number> {
  const { flameDirectory, jsonFile, baselineUse, baselineFile } = options;
  const guard =
    baselineUse === undefined ? undefined : new BaselineGuard(baselineFile, baselineUse, options);
  if (flameDirectory !== undefined) mkdirSync(flameDirectory, { recursive: true });
  const results: ServiceResults[] = [];
  for (const service of services) {
    const kinds = options.kinds.filter((kind) => serviceOf(kind) === service);
    if (kinds.length > 0) results.push(await benchService(options, service, kinds));
  }
  process.stdout.write(`\n${machineLine()}\n`);
  if (jsonFile !== undefined) {
    writeFileSync(jsonFile, `${JSON.stringify({ options, results }, undefined, 2)}\n`);
  }
  if (guard === undefined) return exitCodes.good;
  const measurements = results.flatMap((result) => result.measurements);
  const outcome = guard.conclude(measurements, (text) => process.stdout.write(`\n${text}`));
  return exitCodes[outcome];
}

/** Azurite is no part of the root install. Shows its progress; throws when it fails. */
function installExtras(): void {
  const script = fileURLToPath(new URL('../../scripts/extras.js', import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' });
  if (status !== 0) throw new Error('Without it: --servers bare,tabularium');
}

stopServersAtEnd();

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usage);
  else {
    if (options.servers.includes('azurite')) installExtras();
    process.exitCode = await run(options);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = exitCodes.unknown;
}
