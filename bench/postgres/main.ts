import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../test/support/postgres-server.js';
import { runBench } from '../command.js';
import { closedLoop } from '../engine/closed-loop.js';
import { shortNumber } from '../figures.js';
import { names, parseOptions as httpOptions, positive, type BenchOptions } from '../options.js';
import { progress } from '../progress.js';
import { stopServersAtEnd } from '../server-process.js';
import { benchService } from '../service-bench.js';
import { callersOf, DriverContestant, EngineContestant, type Contestant } from './contestants.js';
import {
  comparedKinds,
  partitionGoal,
  postgresKinds,
  type ComparedKind,
  type PostgresKind,
} from './kinds.js';
import { drainQueue } from './queue-drain.js';
import { comparison, type Turn } from './report.js';

// What the PostgreSQL engine does beside the driver alone and Azurite: docs/internals/postgres.md.

const usage = `npm run bench:postgres -- [options]

The PostgreSQL engine beside its driver alone, in turns, on a database of its own; one partition
from two processes; a queue that is drained; and a server over HTTP beside Azurite.

  --seconds N   of a turn (default 1)
  --turns N     of each kind and contestant (default 5)
  --messages N  of the queue (default 100000)
  --kinds LIST  of ${postgresKinds.join(',')} (default: all)
`;

interface Plan {
  readonly seconds: number;
  readonly turns: number;
  readonly messages: number;
  readonly kinds: readonly PostgresKind[];
}

const schema = 'bench';
const warmupMs = 300;

async function compare(url: string, plan: Plan, kinds: readonly ComparedKind[]): Promise<void> {
  const engine = await EngineContestant.open(url, schema);
  await engine.fill();
  const driver = await DriverContestant.open(url, schema);
  const turns: Turn[] = [];
  for (const kind of kinds) {
    const rate = async (contestant: Contestant, durationMs: number): Promise<number> => {
      const options = { callers: callersOf(kind, contestant), durationMs };
      return (await closedLoop(() => contestant.next(kind), options)).opsPerSecond;
    };
    for (const contestant of [engine, driver]) await rate(contestant, warmupMs);
    for (let turn = 0; turn < plan.turns; turn += 1) {
      const measured = {
        kind,
        engine: await rate(engine, plan.seconds * 1000),
        driver: await rate(driver, plan.seconds * 1000),
      };
      turns.push(measured);
      const rates = [measured.engine, measured.driver].map(shortNumber);
      progress(`${kind}: engine ${rates[0]} /s, driver ${rates[1]} /s`);
    }
  }
  await Promise.all([engine.close(), driver.close()]);
  process.stdout.write(`${comparison(turns)}\n\n`);
}

const writer = fileURLToPath(new URL('partition-writer.js', import.meta.url));

async function onePartition(url: string, { seconds, turns }: Plan): Promise<void> {
  const rates: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const processes = [turn * 2, turn * 2 + 1].map(async (number) => {
      const child = fork(writer, [url, schema, String(number), String(seconds)]);
      const [rate] = (await once(child, 'message')) as [number];
      return rate;
    });
    const all = await Promise.all(processes);
    rates.push(all.reduce((sum, rate) => sum + rate, 0));
    progress(`partition: ${shortNumber(rates.at(-1))} /s from two processes`);
  }
  process.stdout.write(
    `One partition from two processes: ${rates.map(shortNumber).join(', ')} commits/s ` +
      `(goal ${partitionGoal}).\n\n`,
  );
}

async function drained(url: string, { messages }: Plan): Promise<void> {
  const rates = await drainQueue(url, schema, messages);
  process.stdout.write(
    `A queue of ${messages} messages, drained, tenth by tenth: ` +
      `${rates.map(shortNumber).join(', ')} messages/s.\n\n`,
  );
}

function overHttp({ seconds, turns }: Plan): BenchOptions {
  const kinds = 'point,range,insert,batch';
  const given = ['--servers', 'azurite,tabularium-postgres', '--kinds', kinds, '--rows', '10000'];
  const times = ['--seconds', String(seconds), '--rounds', String(turns)];
  const options = httpOptions([...given, ...times]);
  if (options === undefined) throw new Error('The load over HTTP has no options.');
  return options;
}

async function run(plan: Plan): Promise<void> {
  const server = await startPostgres(['shared_buffers=256MB']);
  try {
    const { kinds } = plan;
    const compared = comparedKinds.filter((kind) => kinds.includes(kind));
    await compare(server.url, plan, compared);
    if (kinds.includes('partition')) await onePartition(server.url, plan);
    if (kinds.includes('queue')) await drained(server.url, plan);
  } finally {
    await server.dispose();
  }
  if (plan.kinds.includes('http')) {
    const options = overHttp(plan);
    await benchService(options, 'table', options.kinds);
  }
  const [, fiveMinutes = 0] = loadavg();
  const machine = `${cpus().length} cores, Node ${process.versions.node}`;
  process.stdout.write(`Machine: ${machine}; load over five minutes ${fiveMinutes.toFixed(1)}.\n`);
}

function parse(args: readonly string[]): Plan | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '1' },
      turns: { type: 'string', default: '5' },
      messages: { type: 'string', default: '100000' },
      kinds: { type: 'string', default: postgresKinds.join(',') },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  return {
    seconds: positive('seconds', values.seconds),
    turns: positive('turns', values.turns),
    messages: positive('messages', values.messages),
    kinds: names('kinds', values.kinds, postgresKinds),
  };
}

stopServersAtEnd();

await runBench({ usage, parse, run });
