import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isQueueKind, isTableKind, services } from './kinds.js';
import { parseOptions, usage, type BenchOptions } from './options.js';
import { profileTable } from './profile.js';
import * as report from './report.js';
import { stopServersAtEnd } from './server-process.js';
import { benchService, type ServiceResults } from './service-bench.js';

const profileRows = 40;

async function run(options: BenchOptions): Promise<void> {
  const { profileDirectory, jsonFile } = options;
  if (profileDirectory !== undefined) mkdirSync(profileDirectory, { recursive: true });
  const results: ServiceResults[] = [];
  for (const service of services) {
    const isAsked = service === 'queue' ? isQueueKind : isTableKind;
    const kinds = options.kinds.filter((kind) => isAsked(kind));
    if (kinds.length > 0) results.push(await benchService(options, service, kinds));
  }
  process.stdout.write(`\n${report.machineLine()}\n`);
  if (jsonFile !== undefined) {
    writeFileSync(jsonFile, `${JSON.stringify({ options, results }, undefined, 2)}\n`);
  }
  if (profileDirectory !== undefined) {
    process.stdout.write(`\n${profileTable(profileDirectory, profileRows)}`);
  }
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
    await run(options);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
