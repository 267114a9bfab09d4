import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { progress } from '../progress.js';
import { machineLine } from '../report.js';
import { abandonServers, startServer, type ServerProcess } from '../server-process.js';
import { hostileCredentials } from './hostile-credentials.js';
import { hostileQueueRequests } from './hostile-queues.js';
import type { HostileRequest } from './hostile-request.js';
import { hostileTableRequests } from './hostile-tables.js';
import { MemoryWatch } from './memory-watch.js';
import { startProber, type Prober } from './prober.js';
import { SignedSender } from './signed-sender.js';
import { worldRequests } from './world.js';

const usage = `npm run bench:stalls -- [options]

How long one hostile request keeps another client waiting, and what memory it costs, for each
operation and each kind of credential. Of several rounds the best is shown: what else the machine
does can only add to a stall.

  --rounds N    rounds of each request (default 5)
  --only TEXT   requests whose operation contains the text
`;

/** Requests that make the data, side by side. */
const fillersMax = 16;
/** Between two requests, so that the garbage of one is not collected during the next. */
const restMs = 100;

interface Stall {
  readonly request: HostileRequest;
  readonly status: number;
  readonly stallMs: number;
  readonly memoryMb: number;
}

async function fill(sender: SignedSender): Promise<void> {
  for (const list of worldRequests()) {
    progress(`fills: ${list.length} × ${list[0]?.method ?? ''} of ${list[0]?.service ?? ''}`);
    const left = [...list];
    const filler = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const status = await sender.send(next);
        if (status >= 300 || status === 0) {
          throw new Error(`${next.method} ${next.path}: ${status}`);
        }
      }
    };
    await Promise.all(Array.from({ length: fillersMax }, filler));
  }
}

async function measureOnce(
  request: HostileRequest,
  { sender, prober, server }: Bench,
): Promise<Omit<Stall, 'request'>> {
  for (const before of request.before ?? []) await sender.send(before);
  await pause(restMs);
  const memory = new MemoryWatch(server);
  await prober.longestMs();
  const status = await sender.send(request);
  const stallMs = await prober.longestMs();
  return { status, stallMs, memoryMb: memory.peakMb() };
}

interface Bench {
  readonly server: ServerProcess;
  readonly sender: SignedSender;
  readonly prober: Prober;
}

async function measure(request: HostileRequest, bench: Bench, rounds: number): Promise<Stall> {
  let best = await measureOnce(request, bench);
  for (let round = 1; round < rounds; round += 1) {
    const { status, stallMs, memoryMb } = await measureOnce(request, bench);
    best = {
      status,
      stallMs: Math.min(best.stallMs, stallMs),
      memoryMb: Math.min(best.memoryMb, memoryMb),
    };
  }
  const { status, stallMs, memoryMb } = best;
  const found = `${status}, ${stallMs.toFixed(1)} ms, ${memoryMb.toFixed(1)} MB`;
  progress(`${request.operation}, ${request.what}: ${found}`);
  return { request, ...best };
}

function table(stalls: readonly Stall[]): string {
  const rows = stalls.map(
    ({ request: { operation, what }, status, stallMs, memoryMb }) =>
      `| ${operation} | ${what} | ${status} | ${stallMs.toFixed(1)} | ${memoryMb.toFixed(1)} |`,
  );
  return [
    '| operation or credential | what is hostile | status | longest stall, ms | more memory, MB |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

async function run(rounds: number, only: string): Promise<void> {
  const all = [...hostileTableRequests, ...hostileQueueRequests, ...hostileCredentials];
  const requests = all.filter(({ operation }) => operation.includes(only));
  const server = await startServer('tabularium', 'table', {});
  const sender = new SignedSender(server.ports, server.target.account);
  const prober = await startProber(server.ports.table);
  try {
    await fill(sender);
    const stalls: Stall[] = [];
    for (const request of requests) {
      stalls.push(await measure(request, { server, sender, prober }, rounds));
    }
    process.stdout.write(`${table(stalls)}\n\n${machineLine()}\n`);
  } finally {
    prober.stop();
    await server.stop();
  }
}

process.on('SIGINT', () => {
  abandonServers();
  process.exit(130);
});
process.on('exit', abandonServers);

try {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      only: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else await run(Math.max(1, Number(values.rounds)), values.only);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
