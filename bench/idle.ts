import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { progress } from './progress.js';
import { machineLine } from './figures.js';
import { stopServersAtEnd, startServer, type ServerProcess } from './server-process.js';
import type { PlainRequest } from './stalls/hostile-request.js';
import { eachOf } from './stalls/measuring.js';
import { SignedSender } from './stalls/signed-sender.js';

// Processor time of a server without requests: docs/internals/benchmark.md.

const usage = `npm run bench:idle -- [options]

What a server costs that holds tables and queues and gets no requests.

  --tables N    default 10,000
  --queues N    default 10,000; each second one holds a message
  --seconds N   how long nobody asks for anything, default 60
  --workers     the command line with two processes on the data directory
`;

/** Requests that make the data, side by side. */
const makersMax = 16;
/** The time in which the server finishes background work on the new data. */
const settleMs = 15_000;
const message = '<QueueMessage><MessageText>aWRsZQ==</MessageText></QueueMessage>';

interface Plan {
  readonly tables: number;
  readonly queues: number;
  readonly seconds: number;
  readonly workers: boolean;
}

/** In order; those of one list may go side by side. */
function requestsOf({ tables, queues }: Plan): readonly (readonly PlainRequest[])[] {
  const made = (count: number, make: (at: number) => PlainRequest): PlainRequest[] =>
    Array.from({ length: count }, (_, at) => make(at));
  const json = { 'content-type': 'application/json', prefer: 'return-no-content' };
  return [
    made(tables, (at) => {
      const body = JSON.stringify({ TableName: `Table${at}` });
      return { service: 'table', method: 'POST', path: '/Tables', headers: json, body };
    }),
    made(queues, (at) => ({ service: 'queue', method: 'PUT', path: `/queue-${at}` })),
    made(Math.floor(queues / 2), (at) => {
      const path = `/queue-${2 * at}/messages`;
      return { service: 'queue', method: 'POST', path, body: message };
    }),
  ];
}

async function make(server: ServerProcess, plan: Plan): Promise<void> {
  const sender = new SignedSender(server.ports, { account: server.target.account, token: '' });
  progress(`makes ${plan.tables} tables and ${plan.queues} queues`);
  for (const requests of requestsOf(plan)) {
    await eachOf(requests, makersMax, async (request) => {
      const { status, text } = await sender.send(request);
      if (status === 201 || status === 204) return;
      throw new Error(`${request.method} ${request.path}: ${status} ${text}`);
    });
  }
}

/** Seconds of processor time of all its processes. */
function cpuSeconds(server: ServerProcess): number {
  const { cpuSeconds: seconds } = server.usage();
  if (seconds === undefined)
    throw new Error('Processor time is read from /proc, which is missing.');
  return seconds;
}

async function run(plan: Plan): Promise<void> {
  const server = await startServer(plan.workers ? 'tabularium-workers' : 'tabularium', 'table', {});
  try {
    await make(server, plan);
    progress(`idles for ${plan.seconds} s`);
    await pause(settleMs);
    const before = cpuSeconds(server);
    await pause(plan.seconds * 1000);
    const used = cpuSeconds(server) - before;
    const share = ((100 * used) / plan.seconds).toFixed(2);
    process.stdout.write(
      `${plan.tables} tables, ${plan.queues} queues: ${share} % of one core ` +
        `(${used.toFixed(2)} s in ${plan.seconds} s)\n${machineLine()}\n`,
    );
  } finally {
    await server.stop();
  }
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} must be a whole number, not '${text}'`);
}

stopServersAtEnd();

try {
  const { values } = parseArgs({
    options: {
      tables: { type: 'string', default: '10000' },
      queues: { type: 'string', default: '10000' },
      seconds: { type: 'string', default: '60' },
      workers: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else {
    await run({
      tables: count('tables', values.tables),
      queues: count('queues', values.queues),
      seconds: Math.max(1, count('seconds', values.seconds)),
      workers: values.workers,
    });
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
