import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemTimers } from '../../src/base/async/timers.js';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import { openJournaledStore, type JournalBase } from '../../src/engines/journal/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { encodeTuple } from '../../src/kv/tuple.js';
import { withoutNotes } from '../../test/support/journals.js';
import { runBench } from '../command.js';
import { machineLine } from '../figures.js';
import { positive } from '../options.js';

// How long an opening takes that finds the longest journal there can be: docs/internals/journal.md.

const writers = 256;
const partitions = 4096;
/** A pass that the base has refused begins again within this time. */
const againMs = 600;
/** After so many rounds in which nothing was written the journal is full. */
const vainRounds = 4;

function keyOf(row: number): Uint8Array {
  const partition = Math.imul(row, 2654435761) >>> 0;
  const prefix = partitionPrefix('T', 'account', 1, `p${partition % partitions}`);
  return Buffer.concat([prefix, encodeTuple([`r${row}`])]);
}

interface ReplayOptions {
  readonly valueBytes: number;
  /** Each row is deleted after it was put. */
  readonly deletes: boolean;
}

async function run({ valueBytes, deletes }: ReplayOptions, directory: string): Promise<void> {
  const base = await openMemoryStore({ clock: systemClock });
  const open = (over: JournalBase) =>
    openJournaledStore({
      base: over,
      files: new DiskFiles({ directory, sync: true }),
      clock: systemClock,
      timers: systemTimers,
      randomness: systemRandomness,
    });
  const store = await open(withoutNotes(base));
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
  const cpu = process.cpuUsage();
  const begunMs = performance.now();
  await open(base);
  const { user, system } = process.cpuUsage(cpu);
  const [wall, processor] = [performance.now() - begunMs, (user + system) / 1000];
  process.stdout.write(
    `${rows} rows of ${valueBytes} bytes${deletes ? ', each deleted' : ''}: replayed in ` +
      `${Math.round(wall)} ms, ${Math.round(processor)} ms of processor time. ${machineLine()}\n`,
  );
}

const usage = `npm run bench:replay -- [options]

How long a start takes that finds the longest journal there can be.

  --bytes N   of the value of each row (default 700)
  --deletes   each row is deleted after it was put, as messages are
`;

function parseOptions(args: readonly string[]): ReplayOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bytes: { type: 'string', default: '700' },
      deletes: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { deletes } = values;
  return values.help ? undefined : { valueBytes: positive('bytes', values.bytes), deletes };
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
