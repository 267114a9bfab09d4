import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { concurrently } from '../../src/base/async/concurrently.js';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { syncDirectory } from '../../src/base/sync-directory.js';
import { openFileContent, type FileContent } from '../../src/content/files/content.js';
import { runBench } from '../command.js';
import { machineLine, median, row, shortNumber } from '../figures.js';
import { positive } from '../options.js';

// The content store in files beside the same work by plain calls of the file system, in one
// process: docs/internals/content-store.md.

const pieceBytes = 128 * 1024;
const readBytes = 256 * 1024;

interface Kind {
  readonly name: string;
  readonly bytes: number;
  readonly count: number;
  readonly atOnce: number;
}

const kinds: readonly Kind[] = [
  { name: '16 KiB, one at a time', bytes: 16 * 1024, count: 40, atOnce: 1 },
  { name: '16 KiB, 16 at once', bytes: 16 * 1024, count: 160, atOnce: 16 },
  { name: '4 MiB, one at a time', bytes: 4 << 20, count: 8, atOnce: 1 },
  { name: '256 MiB, one at a time', bytes: 256 << 20, count: 1, atOnce: 1 },
];

/** Code that runs for the first time is slow. */
const warmUp: Kind = { name: '', bytes: 200_000, count: 1000, atOnce: 4 };

const piece = Buffer.alloc(pieceBytes, 'tabularium');

async function* source(bytes: number): AsyncGenerator<Buffer, void, void> {
  for (let left = bytes; left > 0; left -= pieceBytes) {
    yield left < pieceBytes ? piece.subarray(0, left) : piece;
  }
}

/** Ways to store and to read files, each for itself in a folder. */
interface Way {
  store(bytes: number): Promise<string>;
  read(name: string, bytes: number): Promise<void>;
}

function plainWay(folder: string): Way {
  let number = 0;
  return {
    async store(bytes) {
      const path = join(folder, `${(number += 1)}`);
      const file = await open(path, 'wx');
      let at = 0;
      for await (const part of source(bytes)) {
        await file.write(part, 0, part.length, at);
        at += part.length;
      }
      await file.datasync();
      await file.close();
      await syncDirectory(folder);
      return path;
    },
    async read(path) {
      const file = await open(path, 'r');
      for (let at = 0; ;) {
        const buffer = Buffer.allocUnsafe(readBytes);
        const { bytesRead } = await file.read(buffer, 0, readBytes, at);
        if (bytesRead === 0) break;
        at += bytesRead;
      }
      await file.close();
    },
  };
}

function storeWay(content: FileContent): Way {
  const owner = Buffer.from('the prefix under which a blob is named');
  return {
    store: async (bytes) => (await content.put(source(bytes), owner)).id,
    async read(id, bytes) {
      const reader = await content.read(id, 0, bytes);
      for await (const _ of reader.pieces);
      reader.close();
    },
  };
}

interface Figures {
  readonly mebibytesPerSecond: number;
  /** Processor time of this process, with that of the system for it. */
  readonly processorMsPerMebibyte: number;
}

type Measured = Readonly<Record<'store' | 'read', Figures>>;

async function measure(way: Way, { bytes, count, atOnce }: Kind): Promise<Measured> {
  const names: string[] = [];
  const numbers = Array.from({ length: count }, (_, at) => at);
  const figures = async (work: (at: number) => Promise<void>): Promise<Figures> => {
    const begun = { ms: performance.now(), processor: process.cpuUsage() };
    await concurrently(numbers, atOnce, work);
    const { user, system } = process.cpuUsage(begun.processor);
    const mebibytes = (bytes * count) / (1 << 20);
    return {
      mebibytesPerSecond: mebibytes / ((performance.now() - begun.ms) / 1000),
      processorMsPerMebibyte: (user + system) / 1000 / mebibytes,
    };
  };
  const store = await figures(async () => void names.push(await way.store(bytes)));
  const read = await figures((at) => way.read(names[at] ?? '', bytes));
  return { store, read };
}

async function measureIn(name: 'plain' | 'store', parent: string, kind: Kind): Promise<Measured> {
  const directory = await mkdtemp(join(parent, 'tabularium-bench-content-'));
  try {
    if (name === 'plain') {
      await mkdir(join(directory, 'plain'));
      return await measure(plainWay(join(directory, 'plain')), kind);
    }
    const options = { clock: systemClock, randomness: systemRandomness };
    const content = await openFileContent({ directory, ...options });
    const measured = await measure(storeWay(content), kind);
    await content.close();
    return measured;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function cellsOf(
  plain: readonly Figures[],
  store: readonly Figures[],
  figure: keyof Figures,
): readonly string[] {
  const of = (figures: readonly Figures[]) => figures.map((each) => each[figure]);
  const ratios = of(plain).map((each, at) => (store[at]?.[figure] ?? 0) / each);
  return [median(of(plain)), median(of(store)), median(ratios)].map(shortNumber);
}

async function run({ location: parent, rounds }: ContentOptions): Promise<void> {
  for (const name of ['plain', 'store'] as const) await measureIn(name, parent, warmUp);
  const head = ['extents', '', 'plain, MiB/s', 'store', 'ratio', 'plain, ms/MiB', 'store', 'ratio'];
  process.stdout.write(`${row(head)}\n${row(head.map(() => '---'))}\n`);
  for (const kind of kinds) {
    const plain: Measured[] = [];
    const store: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) {
      plain.push(await measureIn('plain', parent, kind));
      store.push(await measureIn('store', parent, kind));
    }
    for (const what of ['store', 'read'] as const) {
      const [one, other] = [plain, store].map((all) => all.map((each) => each[what]));
      if (one === undefined || other === undefined) continue;
      const rates = cellsOf(one, other, 'mebibytesPerSecond');
      const times = cellsOf(one, other, 'processorMsPerMebibyte');
      process.stdout.write(`${row([kind.name, what, ...rates, ...times])}\n`);
    }
  }
  process.stdout.write(`\nMedians of ${rounds} rounds. ${machineLine()}\n`);
}

const usage = `npm run bench:content -- [options]

Stores and reads extents with the content store and with plain files, in turns.

  --location DIR   where a temporary directory is made (default: that of the system)
  --rounds N       (default 11)
`;

interface ContentOptions {
  readonly location: string;
  readonly rounds: number;
}

function parseOptions(args: readonly string[]): ContentOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      location: { type: 'string', default: tmpdir() },
      rounds: { type: 'string', default: '11' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  return { location: values.location, rounds: positive('rounds', values.rounds) };
}

await runBench({ usage, parse: parseOptions, run });
