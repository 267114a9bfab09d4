import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { noteKey } from '../../src/engines/journal/base-note.js';
import { DiskFiles, journalFolder } from '../../src/engines/journal/disk-files.js';
import { blockBytes } from '../../src/engines/journal/frame.js';
import { defaultJournalLimits } from '../../src/engines/journal/journal-limits.js';
import { openJournaledStore, type JournaledStore } from '../../src/engines/journal/store.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { StoreDamagedError } from '../../src/kv/errors.js';
import type { StoreSnapshot } from '../../src/kv/snapshots.js';
import type { Store } from '../../src/kv/store.js';
import { entriesOf, keyOf } from '../power-loss/work.js';
import { ServerProcess } from '../support/crash-server.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { manualTimers } from '../support/manual-timers.js';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';

const reader = fileURLToPath(
  new URL('../../../test/journal-reader/read_journal.py', import.meta.url),
);
const seed = seedSetting('TABULARIUM_READER_SEED');
const images = byLength({ short: 12, long: 400 });
const livesMax = 3;
const actsMax = 40;
/** A server that was killed leaves these. */
const left = ['data.mdb', 'format', journalFolder];

const isRecent = 'import sys; sys.exit(sys.version_info < (3, 10))';
const withoutPython =
  spawnSync('python3', ['-c', isRecent]).status === 0 ? false : 'needs Python 3.10 or newer';

/** What the reader prints of a directory. */
type Listing =
  | { readonly refused: string }
  | {
      readonly frames: readonly number[];
      readonly lastVersion: number;
      readonly changes: readonly (readonly [string, string | null, number])[];
    };

/** Value and version of each key, both keys and values in hexadecimal. */
type Content = ReadonlyMap<string, readonly [string, number]>;

async function listingsOf(directories: readonly string[]): Promise<readonly Listing[]> {
  const options = { maxBuffer: 1 << 30 };
  const { stdout } = await promisify(execFile)('python3', [reader, ...directories], options);
  return stdout
    .trim()
    .split('\n')
    .map((line): Listing => JSON.parse(line));
}

async function contentOf(store: Pick<Store, 'range'>): Promise<Content> {
  const found = new Map<string, readonly [string, number]>();
  for await (const { key, value, version } of entriesOf(store, false)) {
    if (Buffer.from(noteKey).equals(key)) continue;
    found.set(hex(key), [hex(value), version]);
  }
  return found;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

async function openBase(directory: string) {
  return openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
}

async function open(directory: string, base?: Awaited<ReturnType<typeof openBase>>) {
  return openJournaledStore({
    base: base ?? (await openBase(directory)),
    files: new DiskFiles({ directory, sync: false }),
    clock: systemClock,
    // Passes begin only where the test or a bound asks for them.
    timers: manualTimers(),
    randomness: systemRandomness,
    limits: { ...defaultJournalLimits, fileBytes: 8 * blockBytes, filesMax: 4 },
  });
}

async function copyOfKilled(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of left) await cp(join(from, name), join(to, name), { recursive: true });
}

/** Throws unless the store finds what the reader says of a copy, or both refuse it. */
async function assertAgree(directory: string, listing: Listing): Promise<void> {
  const base = await openBase(directory);
  const inBase = await contentOf(base);
  const store = await open(directory, base).catch((error: unknown) => {
    if (error instanceof StoreDamagedError) return error;
    throw error;
  });
  if (store instanceof StoreDamagedError) {
    await base.close();
    assert.ok('refused' in listing, `the store alone refuses it: ${store.message}`);
    return;
  }
  try {
    assert.ok(!('refused' in listing), `the reader alone refuses it: ${JSON.stringify(listing)}`);
    assert.deepEqual(await contentOf(store), withChanges(inBase, listing));
    assert.ok((await store.lastVersion()) >= listing.lastVersion);
  } finally {
    await store.close();
  }
}

function withChanges(
  content: Content,
  { changes }: Exclude<Listing, { refused: string }>,
): Content {
  const after = new Map(content);
  for (const [key, value, version] of changes) {
    if (value === null) after.delete(key);
    else after.set(key, [value, version]);
  }
  return after;
}

async function act(store: JournaledStore, random: SimRandom, taken: StoreSnapshot[]) {
  const kind = random.weighted({ commit: 30, pass: 2, restore: 1 });
  if (kind === 'pass') taken.push(await store.takeSnapshot());
  const snapshot = taken.at(-1);
  if (kind === 'restore' && snapshot !== undefined) await store.restoreSnapshot(snapshot);
  if (kind !== 'commit') return;
  const key = keyOf(`p${random.int(3)}/row${random.int(20)}`);
  const value = random.bytes(random.int(random.pick([50, 9_000])));
  const isGone = random.chance(0.2);
  const puts = isGone ? [] : [{ key, value }];
  assert.ok((await store.commit({ checks: [], puts, deletes: isGone ? [key] : [] })).ok);
}

/** The directories of servers that were killed, each a copy of the one before that was used on. */
async function killedServers(folder: string, random: SimRandom): Promise<readonly string[]> {
  const killed: string[] = [];
  const lives = random.between(1, livesMax);
  for (let life = 0; life < lives; life += 1) {
    const live = join(folder, `live${life}`);
    const before = killed.at(-1);
    if (before !== undefined) await copyOfKilled(before, live);
    const store = await open(live);
    const acts = random.int(actsMax);
    const taken: StoreSnapshot[] = [];
    for (let count = 0; count < acts; count += 1) await act(store, random, taken);
    const directory = join(folder, `killed${life}`);
    await copyOfKilled(live, directory);
    killed.push(directory);
    await store.close();
  }
  return killed;
}

async function journalFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(join(directory, journalFolder), {
    recursive: true,
    withFileTypes: true,
  });
  const paths = entries.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
  return paths.toSorted();
}

/** Puts back what an earlier copy has. */
async function replace(directory: string, before: string | undefined, name: string) {
  if (before === undefined) return;
  await rm(join(directory, name), { recursive: true });
  await cp(join(before, name), join(directory, name), { recursive: true });
}

/** What may become of a directory in wrong hands, or on a bad disk. */
async function spoil(directory: string, before: string | undefined, random: SimRandom) {
  const path = random.pick(await journalFiles(directory));
  const content = await readFile(path);
  const deeds = {
    nothing: () => Promise.resolve(),
    bit: () => {
      const at = random.pick([random.int(content.length), blockBytes + random.int(blockBytes)]);
      content[at] = (content[at] ?? 0) ^ (1 << random.int(8));
      return writeFile(path, content);
    },
    cut: () => truncate(path, random.int(content.length)),
    longer: () => truncate(path, content.length + random.int(3 * blockBytes)),
    copy: () => cp(path, `${path}x`),
    remove: () => rm(path),
    renamed: () => rename(path, `${path}x`),
    folder: () => rm(join(path, '..'), { recursive: true }),
    twice: () => cp(join(path, '..'), `${join(path, '..')}.old`, { recursive: true }),
    journal: () => rm(join(directory, journalFolder), { recursive: true }),
    formerData: () => replace(directory, before, 'data.mdb'),
    formerJournal: () => replace(directory, before, journalFolder),
  };
  const [name, deed] = random.pick(Object.entries(deeds));
  await deed();
  return name;
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const { directory, remove } = await temporaryLocation();
  t.after(remove);
  await mkdir(directory, { recursive: true });
  return directory;
}

describe('a reader of journals that was written from their page', { skip: withoutPython }, () => {
  it('lists what a start finds of a server that was killed', costly(), async (t) => {
    const folder = await temporaryFolder(t);
    const location = join(folder, 'data');
    for (const round of [1, 2]) {
      const server = await ServerProcess.start(location);
      const client = server.client();
      const body = JSON.stringify({ TableName: `table${round}` });
      assert.equal((await client.send({ method: 'POST', path: '/Tables', body })).status, 201);
      client.close();
      await server.end('SIGKILL');
      const copy = join(folder, `${round}`);
      await copyOfKilled(location, copy);
      const [listing] = await listingsOf([copy]);
      assert.ok(listing !== undefined && !('refused' in listing));
      assert.ok(listing.changes.some(([key]) => key.includes(hex(Buffer.from(`table${round}`)))));
      await assertAgree(copy, listing);
    }
  });

  it(
    `agrees with the store on ${images} directories, most of them spoilt (seed ${seed})`,
    costly(),
    async (t) => {
      const random = new SimRandom(seed);
      const folder = await temporaryFolder(t);
      const made: { readonly directory: string; readonly deed: string }[] = [];
      for (let image = 0; image < images; image += 1) {
        const killed = await killedServers(join(folder, `${image}`), random);
        const directory = killed.at(-1);
        assert.ok(directory !== undefined);
        made.push({ directory, deed: await spoil(directory, killed.at(-2), random) });
      }
      const listings = await listingsOf(made.map(({ directory }) => directory));
      for (const [index, { directory, deed }] of made.entries()) {
        const listing = listings[index];
        assert.ok(listing !== undefined);
        await assertAgree(directory, listing).catch((cause: unknown) => {
          throw new Error(`image ${index}, '${deed}', of seed ${seed}`, { cause });
        });
      }
    },
  );
});
