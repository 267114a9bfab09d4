import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemTimers } from '../../src/base/async/timers.js';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import { openJournaledStore, type JournalBase } from '../../src/engines/journal/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreWriteError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { encodeTuple } from '../../src/kv/tuple.js';
import { runBench } from '../command.js';
import { machineLine } from '../figures.js';
import { positive } from '../options.js';

// How long an opening takes that finds the longest journal there can be: docs/internals/journal.md.

const writers = 256;
const partitions = 4096;

/** Takes the note of the opening, and nothing after it. */
function refusing(base: JournalBase): JournalBase {
  let taken = 0;
  return new Proxy(base, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      if (name !== 'ingest') return found.bind(target);
      return async (...args: Parameters<JournalBase['ingest']>) => {
        taken += 1;
        if (taken > 1) throw new StoreWriteError('The base takes nothing.');
        await target.ingest(...args);
      };
    },
  });
}

function keyOf(row: number): Uint8Array {
  const partition = Math.imul(row, 2654435761) >>> 0;
  const prefix = partitionPrefix('T', 'account', 1, `p${partition % partitions}`);
  return Buffer.concat([prefix, encodeTuple([`r${row}`])]);
}

async function run(valueBytes: number, directory: string): Promise<void> {
  const base = await openMemoryStore({ clock: systemClock });
  const open = (over: JournalBase) =>
    openJournaledStore({
      base: over,
      files: new DiskFiles({ directory, sync: true }),
      clock: systemClock,
      timers: systemTimers,
      randomness: systemRandomness,
    });
  const store = await open(refusing(base));
  let rows = 0;
  const state = { isFull: false };
  const write = async (): Promise<void> => {
    while (!state.isFull) {
      const puts = [{ key: keyOf(rows), value: Buffer.alloc(valueBytes, rows) }];
      rows += 1;
      await store.commit({ checks: [], puts, deletes: [] }).catch(() => (state.isFull = true));
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  const cpu = process.cpuUsage();
  const begunMs = performance.now();
  await open(base);
  const { user, system } = process.cpuUsage(cpu);
  const [wall, processor] = [performance.now() - begunMs, (user + system) / 1000];
  process.stdout.write(
    `${rows - writers} rows of ${valueBytes} bytes: replayed in ${Math.round(wall)} ms, ` +
      `${Math.round(processor)} ms of processor time. ${machineLine()}\n`,
  );
}

const usage = `npm run bench:replay -- [options]

How long a start takes that finds the longest journal there can be.

  --bytes N   of the value of each row (default 700)
`;

function parseOptions(args: readonly string[]): number | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bytes: { type: 'string', default: '700' },
      help: { type: 'boolean', default: false },
    },
  });
  return values.help ? undefined : positive('bytes', values.bytes);
}

await runBench({
  usage,
  parse: parseOptions,
  run: async (valueBytes) => {
    const directory = mkdtempSync(join(tmpdir(), 'tabularium-replay-'));
    try {
      await run(valueBytes, directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});
// The stores are still open.
process.exit();
