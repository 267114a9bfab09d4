import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { dataFile } from '../../src/engines/lmdb/directory/file-kinds.js';
import { openReadOnly } from '../../src/engines/lmdb/environment.js';
import { defaultRows } from '../dataset.js';
import { machineLine } from '../figures.js';
import { fillTable } from '../fill.js';
import { runLoad, type LoadResult } from '../load.js';
import { positive } from '../options.js';
import { progress } from '../progress.js';
import { startServer, stopServersAtEnd, type ServerProcess } from '../server-process.js';
import { SignedSender } from '../stalls/signed-sender.js';
import { makeTableWorkload, TableData } from '../table-workloads.js';
import { garbageTable, type Garbage } from './garbage.js';

// How fast a busy server frees dropped and expired data, and how much this slows other requests:
// docs/internals/sweeps.md.

const usage = `npm run bench:sweeps -- [options]

A server with garbage under full load: what it frees in a second, and the latencies of others.

  --rows N             of a table that is dropped (default 300000)
  --partition-rows N   of each of its partitions (default 1000)
  --messages N         that expire together (default 0)
  --expire-in N        seconds from the beginning until they expire (default 60)
  --journal            with a journal before the data file
  --seconds N          of each measurement (default 4)
  --windows N          measurements after the drop at most (default 30)
  --connections N      half of them read points, half insert (default 32)
`;

interface Plan extends Garbage {
  readonly journal: boolean;
  readonly seconds: number;
  readonly windows: number;
  readonly connections: number;
}

/** A server writes entries of its own meanwhile. */
const freedAlmost = 0.99;

interface Window {
  readonly seconds: number;
  readonly reads: LoadResult;
  readonly inserts: LoadResult;
  /** Entries of the data file that are gone. */
  readonly freed: number;
  readonly cpuMicros: number;
  readonly longestTurnMs: number;
  readonly fileMb: number;
}

class SweepBench {
  readonly #server: ServerProcess;
  readonly #plan: Plan;
  readonly #data: TableData;

  constructor(server: ServerProcess, plan: Plan, data: TableData) {
    this.#data = data;
    this.#server = server;
    this.#plan = plan;
  }

  async measure(): Promise<Window> {
    const { target } = this.#server;
    const before = { cpu: this.#cpuSeconds(), entries: this.#entries(), ms: performance.now() };
    await this.#server.ask('longest turn');
    const options = {
      connections: this.#plan.connections / 2,
      warmupMs: 0,
      durationMs: this.#plan.seconds * 1000,
    };
    const [reads, inserts] = await Promise.all([
      runLoad(target, makeTableWorkload('point', target, this.#data), options),
      runLoad(target, makeTableWorkload('insert', target, this.#data), options),
    ]);
    const longestTurnMs = await this.#server.ask('longest turn');
    const requests = reads.requests + inserts.requests;
    return {
      seconds: (performance.now() - before.ms) / 1000,
      reads,
      inserts,
      freed: before.entries + inserts.requests - this.#entries(),
      cpuMicros: ((this.#cpuSeconds() - before.cpu) * 1e6) / requests,
      longestTurnMs,
      fileMb: statSync(join(this.#server.directory, dataFile)).size / 1e6,
    };
  }

  #cpuSeconds(): number {
    return this.#server.usage().cpuSeconds ?? Number.NaN;
  }

  #entries(): number {
    const root = openReadOnly(this.#server.directory);
    const { entryCount } = root.openDB({ name: 'entries' }).getStats() as { entryCount: number };
    root.resetReadTxn();
    return entryCount;
  }
}

function line(what: string, { reads, inserts, ...rest }: Window): string {
  const cells = [
    what.padEnd(10),
    `${Math.round(rest.freed / rest.seconds)}`.padStart(9),
    `${Math.round(reads.requests / reads.seconds)}`.padStart(8),
    `${reads.p50Ms.toFixed(1)} / ${reads.p99Ms.toFixed(1)}`.padStart(14),
    `${Math.round(inserts.requests / inserts.seconds)}`.padStart(9),
    `${inserts.p50Ms.toFixed(1)} / ${inserts.p99Ms.toFixed(1)}`.padStart(14),
    rest.cpuMicros.toFixed(0).padStart(7),
    rest.longestTurnMs.toFixed(1).padStart(8),
    rest.fileMb.toFixed(0).padStart(8),
  ];
  return `${cells.join(' ')}\n`;
}

const heading =
  'when       entries/s  reads/s  p50 / p99 ms inserts/s   p50 / p99 ms  CPU µs  turn ms  file MB\n';

async function drop(server: ServerProcess): Promise<void> {
  const sender = new SignedSender(server.ports, { account: server.target.account, token: '' });
  const path = `/Tables('${garbageTable}')`;
  const { status, text } = await sender.send({ service: 'table', method: 'DELETE', path });
  if (status !== 204) throw new Error(`${path}: ${status} ${text}`);
}

async function run(plan: Plan): Promise<void> {
  const script = fileURLToPath(new URL('sweep-server.js', import.meta.url));
  const durability = plan.journal ? 'journal' : 'durable';
  const begunMs = performance.now();
  const server = await startServer('tabularium', 'table', {
    launch: {
      args: (directory) => [script, directory, durability, JSON.stringify(plan)],
      reportsPorts: true,
    },
  });
  try {
    const data = new TableData(defaultRows);
    await fillTable(server, data, plan.connections);
    const bench = new SweepBench(server, plan, data);
    await bench.measure();
    process.stdout.write(heading);
    process.stdout.write(line('before', await bench.measure()));
    if (plan.rows > 0) await drop(server);
    else {
      const leftMs = plan.expireSeconds * 1000 - (performance.now() - begunMs);
      progress(`waits ${(leftMs / 1000).toFixed(1)} s until the messages expire`);
      await new Promise((resolve) => setTimeout(resolve, leftMs));
    }
    const garbage = plan.rows + 3 * plan.messages;
    let freed = 0;
    for (let window = 0; window < plan.windows && freed < garbage * freedAlmost; window += 1) {
      const measured = await bench.measure();
      freed += measured.freed;
      process.stdout.write(line(`${(window + 1) * plan.seconds} s`, measured));
    }
    process.stdout.write(line('after', await bench.measure()));
    process.stdout.write(`${freed} of ${garbage} entries freed. ${machineLine()}\n`);
  } finally {
    await server.stop();
  }
}

stopServersAtEnd();

try {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '300000' },
      'partition-rows': { type: 'string', default: '1000' },
      messages: { type: 'string', default: '0' },
      'expire-in': { type: 'string', default: '60' },
      journal: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '4' },
      windows: { type: 'string', default: '30' },
      connections: { type: 'string', default: '32' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else {
    await run({
      rows: values.messages === '0' ? positive('rows', values.rows) : 0,
      partitionRows: positive('partition-rows', values['partition-rows']),
      messages: Number(values.messages),
      expireSeconds: positive('expire-in', values['expire-in']),
      journal: values.journal,
      seconds: positive('seconds', values.seconds),
      windows: positive('windows', values.windows),
      connections: positive('connections', values.connections),
    });
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
