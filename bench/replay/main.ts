import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { systemTimers } from '../../src/base/async/timers.js';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import {
  openJournaledStore,
  type JournalBase,
  type JournaledStore,
} from '../../src/engines/journal/store.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { encodeTuple } from '../../src/kv/tuple.js';
import { withoutNotes } from '../../test/support/journals.js';
import { runBench } from '../command.js';
import { machineLine } from '../figures.js';
import { positive } from '../options.js';
import { progress } from '../progress.js';
import { startServer, stopServersAtEnd } from '../server-process.js';

// How long an opening takes that finds the longest journal there can be: docs/internals/journal.md.

const writers = 256;
const partitions = 4096;
/** A pass that the base has refused begins again within this time. */
const againMs = 600;
/** The journal is full after this number of rounds without a write. */
const vainRounds = 4;
const wholeRounds = 3;
const killedWithinMs = 60_000;

function keyOf(row: number): Uint8Array {
  const partition = Math.imul(row, 2654435761) >>> 0;
  const prefix = partitionPrefix('T', 'account', 1, `p${partition % partitions}`);
  return Buffer.concat([prefix, encodeTuple([`r${row}`])]);
}

interface ReplayOptions {
  readonly valueBytes: number;
  /** Each row is deleted after it was put. */
  readonly deletes: boolean;
  /** A whole server starts on a real data file, after a kill. */
  readonly isWhole: boolean;
  /** Only fills this directory, and waits to be killed. */
  readonly fillOnly: string | undefined;
}

const open = (base: JournalBase, directory: string) =>
  openJournaledStore({
    base,
    files: new DiskFiles({ directory, sync: true }),
    clock: systemClock,
    timers: systemTimers,
    randomness: systemRandomness,
  });

/** Fills a journal until it refuses more. Returns the number of rows. */
async function fill(
  store: Pick<JournaledStore, 'commit'>,
  { valueBytes, deletes }: ReplayOptions,
): Promise<number> {
  let rows = 0;
  let next = 0;
  const write = async (state: { isFull: boolean }): Promise<void> => {
    while (!state.isFull) {
      const key = keyOf(next);
      next += 1;
      const put = { key, value: Buffer.alloc(valueBytes, next) };
      const gone = { checks: [], puts: [], deletes: [key] };
      try {
        await store.commit({ checks: [{ key, version: 'absent' }], puts: [put], deletes: [] });
        rows += 1;
        if (deletes) await store.commit(gone);
      } catch {
        state.isFull = true;
      }
    }
  };
  // Each pass makes room in memory before it fails, until the journal has none.
  for (let vain = 0; vain < vainRounds; vain += 1) {
    const before = rows;
    const state = { isFull: false };
    await Promise.all(Array.from({ length: writers }, () => write(state)));
    if (rows > before) vain = 0;
    await sleep(againMs);
  }
  return rows;
}

function what({ valueBytes, deletes }: ReplayOptions, rows: number): string {
  return `${rows} rows of ${valueBytes} bytes${deletes ? ', each deleted' : ''}`;
}

async function replay(options: ReplayOptions, directory: string): Promise<void> {
  const base = await openMemoryStore({ clock: systemClock });
  const rows = await fill(await open(withoutNotes(base), directory), options);
  const cpu = process.cpuUsage();
  const begunMs = performance.now();
  await open(base, directory);
  const { user, system } = process.cpuUsage(cpu);
  const [wall, processor] = [performance.now() - begunMs, (user + system) / 1000];
  process.stdout.write(
    `${what(options, rows)}: replayed in ${Math.round(wall)} ms, ${Math.round(processor)} ms of ` +
      `processor time. ${machineLine()}\n`,
  );
}

/** Tells the parent how many rows a real data directory has in its journal. */
async function fillDirectory(options: ReplayOptions, directory: string): Promise<void> {
  const base = await openLmdbStore({ directory, clock: systemClock, ingestsInThread: 'large' });
  const rows = await fill(await open(withoutNotes(base), directory), options);
  process.send?.(rows);
  // The parent kills this process.
  await sleep(killedWithinMs);
}

async function fillAndKill(options: ReplayOptions, directory: string): Promise<number> {
  const { valueBytes, deletes } = options;
  const filling = ['--fill-only', directory, '--bytes', String(valueBytes)];
  const child = fork(fileURLToPath(import.meta.url), deletes ? [...filling, '--deletes'] : filling);
  const ended = once(child, 'exit');
  const [rows] = await Promise.race([
    once(child, 'message'),
    ended.then(() => Promise.reject(new Error('The process that fills the journal has ended.'))),
  ]);
  child.kill('SIGKILL');
  await ended;
  return Number(rows);
}

/** How long a process takes from its start to its first connection, and what it uses until then. */
async function startTimes(directory: string): Promise<string> {
  const begunMs = performance.now();
  const server = await startServer('tabularium', 'table', { directory });
  const wallMs = performance.now() - begunMs;
  const { cpuSeconds = Number.NaN } = server.usage();
  await server.kill();
  return `${Math.round(wallMs)} ms (${Math.round(1000 * cpuSeconds)} ms of processor time)`;
}

async function startWhole(options: ReplayOptions, directory: string): Promise<void> {
  stopServersAtEnd();
  for (let round = 0; round < wholeRounds; round += 1) {
    const [full, empty] = [join(directory, `full-${round}`), join(directory, `empty-${round}`)];
    progress(`round ${round + 1} of ${wholeRounds}: fills a journal`);
    const rows = await fillAndKill(options, full);
    const onEmpty = await startTimes(empty);
    const afterKill = await startTimes(full);
    process.stdout.write(
      `${what(options, rows)}: a server started in ${afterKill} after the kill, ` +
        `in ${onEmpty} on an empty directory. ${machineLine()}\n`,
    );
  }
}

const usage = `npm run bench:replay -- [options]

How long a start takes that finds the longest journal there can be.

  --bytes N   of the value of each row (default 700)
  --deletes   each row is deleted after it was put, as messages are
  --whole     the start of a server process after a kill, with a real data file, beside the start on an
              empty directory; three times
`;

function parseOptions(args: readonly string[]): ReplayOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bytes: { type: 'string', default: '700' },
      deletes: { type: 'boolean', default: false },
      whole: { type: 'boolean', default: false },
      'fill-only': { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { deletes, whole: isWhole, 'fill-only': fillOnly } = values;
  return { valueBytes: positive('bytes', values.bytes), deletes, isWhole, fillOnly };
}

async function run(options: ReplayOptions, directory: string): Promise<void> {
  if (options.fillOnly !== undefined) await fillDirectory(options, options.fillOnly);
  else if (options.isWhole) await startWhole(options, directory);
  else await replay(options, directory);
}

await runBench({
  usage,
  parse: parseOptions,
  run: async (options) => {
    const directory = mkdtempSync(join(tmpdir(), 'tabularium-replay-'));
    try {
      await run(options, directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});
// The stores are still open.
process.exit();
