import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { progress } from '../progress.js';
import { machineLine } from '../figures.js';
import { stopServersAtEnd, startServer } from '../server-process.js';
import { makeIssuer, type BenchIssuer } from './bench-issuer.js';
import { hostileCredentials } from './hostile-credentials.js';
import { hostileQueueRequests } from './hostile-queues.js';
import { hostileTableRequests } from './hostile-tables.js';
import { eachOf, measure, type Bench, type Finding } from './measuring.js';
import { eagerRelease } from './memory-watch.js';
import { startProber } from './prober.js';
import { findingsTable, silentTable } from './results.js';
import { measureSilent, silentClients, type SilentEffect } from './silent-clients.js';
import { SignedSender } from './signed-sender.js';
import { worldRequests } from './world.js';

const usage = `npm run bench:stalls -- [options]

How long hostile requests keep another client waiting, and what memory they cost, for each
operation and each kind of credential, alone and many at once. Of several rounds the best is
shown: what else the machine does can only add to a stall.

  --rounds N    rounds of each request (default 5)
  --only TEXT   rows whose operation and words contain the text ("silent": clients that stop)
`;

/** How many requests fill the server at a time. */
const fillersMax = 16;

async function fill(sender: SignedSender): Promise<void> {
  for (const list of worldRequests()) {
    progress(`fills: ${list.length} × ${list[0]?.method ?? ''} of ${list[0]?.service ?? ''}`);
    await eachOf(list, fillersMax, async (request) => {
      const { status, text } = await sender.send(request);
      if (status >= 300 || status === 0) {
        throw new Error(`${request.method} ${request.path}: ${status} ${text}`);
      }
    });
  }
}

function startVictim(issuer: BenchIssuer, jwksPath: string): ReturnType<typeof startServer> {
  const script = fileURLToPath(new URL('victim-server.js', import.meta.url));
  return startServer('tabularium', 'table', {
    launch: {
      args: (directory) => [script, directory, issuer.issuer, jwksPath],
      reportsPorts: true,
    },
    nodeFlags: ['--expose-gc'],
    environment: eagerRelease,
  });
}

async function measureAll(
  bench: Bench,
  issuer: BenchIssuer,
  { rounds, only }: { readonly rounds: number; readonly only: string },
): Promise<string> {
  const credentials = await hostileCredentials(bench.server.target.account, issuer);
  const findings: Finding[] = [];
  for (const request of [...hostileTableRequests, ...hostileQueueRequests, ...credentials]) {
    if (!`${request.operation}, ${request.what}`.includes(only)) continue;
    findings.push(await measure(request, { rounds, bench }));
  }
  const silent: SilentEffect[] = [];
  for (const clients of silentClients) {
    if (!`silent clients, ${clients.what}`.includes(only)) continue;
    silent.push(await measureSilent(clients, bench));
  }
  return [findingsTable(findings), silentTable(silent)].join('\n\n');
}

async function run(options: { readonly rounds: number; readonly only: string }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tabularium-stalls-'));
  const jwksPath = join(folder, 'jwks.json');
  const issuer = await makeIssuer(jwksPath);
  const roles = ['Storage Table Data Contributor', 'Storage Queue Data Contributor'];
  const token = await issuer.token(roles);
  const server = await startVictim(issuer, jwksPath);
  const { account } = server.target;
  const sender = new SignedSender(server.ports, { account, token });
  try {
    await fill(sender);
    const prober = await startProber(server);
    try {
      const tables = await measureAll({ server, sender, prober }, issuer, options);
      const load = loadavg()[2]?.toFixed(1) ?? '';
      process.stdout.write(`${tables}\n\n${machineLine()} Load average of 15 minutes: ${load}.\n`);
    } finally {
      prober.stop();
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

stopServersAtEnd();

try {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      only: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else await run({ rounds: Math.max(1, Number(values.rounds)), only: values.only });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
