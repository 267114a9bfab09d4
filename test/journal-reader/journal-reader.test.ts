import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import {
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { codeOf } from '../../src/base/thrown.js';
import { noteKey } from '../../src/engines/journal/base-note.js';
import { DiskFiles, journalFolder } from '../../src/engines/journal/disk-files.js';
import { blockBytes } from '../../src/engines/journal/frame.js';
import { defaultJournalLimits } from '../../src/engines/journal/journal-limits.js';
import { openJournaledStore, type JournaledStore } from '../../src/engines/journal/store.js';
import { openLmdbStore, type LmdbStore } from '../../src/engines/lmdb/store.js';
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
const images = byLength({ short: 3, long: 400 });
const livesMax = 3;
/** A life with few commits leaves the folders of those before: no pass takes them away. */
const actsMax = [6, 40];
const lateMax = 4;
const copiesMax = 100;
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

async function openBase(directory: string): Promise<LmdbStore> {
  return openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
}

async function open(directory: string, base?: LmdbStore) {
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

/** A copy of one instant: made again when a pass has changed something meanwhile. */
async function copyOfKilled(from: string, to: string): Promise<void> {
  for (let attempt = 0; attempt < copiesMax; attempt += 1) {
    const before = await stampsOf(from);
    if (before === undefined) continue;
    await rm(to, { recursive: true, force: true });
    await mkdir(to, { recursive: true });
    const copied = left.map((name) => cp(join(from, name), join(to, name), { recursive: true }));
    const results = await Promise.allSettled(copied);
    const isWhole = results.every(({ status }) => status === 'fulfilled');
    if (isWhole && (await stampsOf(from)) === before) return;
  }
  throw new Error(`${from} does not come to rest`);
}

/** Names, places and times of the files that a copy has. None while a folder of them is removed. */
async function stampsOf(directory: string): Promise<string | undefined> {
  const files = await journalFiles(directory).catch(unlessRemoved);
  if (files === undefined) return undefined;
  const paths = [...left.map((name) => join(directory, name)), ...files];
  const stamps = paths.map(async (path) => {
    const found = await stat(path).catch(() => undefined);
    return `${path} ${found?.ino} ${found?.size} ${found?.mtimeMs}`;
  });
  return (await Promise.all(stamps)).join();
}

/** For a folder that a store may remove meanwhile. */
function unlessRemoved(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

/**
 * Throws unless the store finds what the reader says of a copy, or both refuse it. `written`: what
 * may be found; where it is empty, anything may.
 */
async function assertAgree(
  directory: string,
  listing: Listing,
  written: readonly Content[] = [],
): Promise<void> {
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
    const found = await contentOf(store);
    assert.deepEqual(found, withChanges(inBase, listing));
    const isWritten = written.some((content) => isDeepStrictEqual(found, content));
    if (!isWritten && written.length > 0)
      assert.deepEqual(found, written[0], 'not what was written');
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
  const kind = random.weighted({ commit: 12, pass: 2, restore: 1 });
  if (kind === 'pass') taken.push(await store.takeSnapshot());
  // The data file of the moment before cannot be told from that of a restoration that has failed.
  if (kind === 'restore') await commitSome(store, random);
  // A snapshot, or nothing at all.
  if (kind === 'restore') await store.restoreSnapshot(taken.at(-1));
  if (kind === 'commit') await commitSome(store, random);
}

async function commitSome(store: JournaledStore, random: SimRandom): Promise<void> {
  const key = keyOf(`p${random.int(3)}/row${random.int(20)}`);
  const value = random.bytes(random.int(random.pick([50, 9_000])));
  const isGone = random.chance(0.2);
  const puts = isGone ? [] : [{ key, value }];
  assert.ok((await store.commit({ checks: [], puts, deletes: isGone ? [key] : [] })).ok);
}

/** What a server that was killed has left. */
interface Killed {
  readonly directory: string;
  /** What it had acknowledged. */
  readonly content: Content;
  /**
   * The same with writes that nobody got an answer for, each of another process that was replaced:
   * lives that write nothing leave nothing that tells a former data file of them.
   */
  readonly unanswered: readonly Content[];
  /** Copies of earlier moments, the last ones of its own life. */
  readonly earlier: readonly string[];
}

/** A process, and the directory that it believes to own. */
interface Life {
  readonly store: JournaledStore;
  readonly directory: string;
}

/** Several lives of a server. Each ends by a kill, and the next goes on with what it has left. */
async function killedServer(folder: string, random: SimRandom): Promise<Killed> {
  const earlier: string[] = [];
  let content: Content = new Map();
  let unanswered: Content[] = [];
  const copy = async ({ store, directory }: Life): Promise<void> => {
    earlier.push(join(folder, `copy${earlier.length}`));
    await copyOfKilled(directory, earlier.at(-1) ?? '');
    content = await contentOf(store);
  };
  let before: Life | undefined;
  const lives = random.between(2, livesMax);
  for (let count = 0; count < lives; count += 1) {
    const directory = join(folder, `live${count}`);
    if (before !== undefined) await copyOfKilled(earlier.at(-1) ?? '', directory);
    if (before !== undefined && random.chance(0.3)) await endBeforeNote(directory);
    const life: Life = { store: await open(directory), directory };
    if (before !== undefined) {
      await writeLate(before, directory, random.int(lateMax), random);
      unanswered.push(await contentOf(before.store));
    }
    await before?.store.close();
    const found = await life.store.lastVersion();
    await live(life, () => copy(life), random);
    if ((await life.store.lastVersion()) !== found) unanswered = [];
    await copy(life);
    before = life;
  }
  await before?.store.close();
  const directory = earlier.pop();
  assert.ok(directory !== undefined);
  return { directory, content, unanswered, earlier };
}

async function live({ store }: Life, copy: () => Promise<void>, random: SimRandom): Promise<void> {
  const acts = random.int(random.pick(actsMax));
  const copyAt = random.int(actsMax.at(-1) ?? 0);
  const taken: StoreSnapshot[] = [];
  for (let count = 0; count < acts; count += 1) {
    if (count === copyAt % acts) await copy();
    await act(store, random, taken);
  }
}

/** A process that ends when it has made its folder, before the note names that. */
async function endBeforeNote(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const base = await openBase(directory);
  const killed = new Proxy(base, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (name === 'ingest') return () => Promise.reject(new Error('killed'));
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  await assert.rejects(open(directory, killed), /killed/);
  await base.close();
}

/**
 * What a server has left that was killed twice and in between before its note, what it had
 * acknowledged, and the directory after a third life that it closed in order.
 */
async function severalOpenings(folder: string, random: SimRandom) {
  const [first, second, killed] = ['first', 'second', 'killed'].map((name) => join(folder, name));
  assert.ok(first !== undefined && second !== undefined && killed !== undefined);
  const before: Life = { store: await open(first), directory: first };
  for (let count = 0; count < 3; count += 1) await commitSome(before.store, random);
  await copyOfKilled(first, second);
  await endBeforeNote(second);
  const store = await open(second);
  await writeLate(before, second, 3, random);
  await before.store.close();
  await commitSome(store, random);
  await copyOfKilled(second, killed);
  const content = await contentOf(store);
  await store.close();
  return { killed, closed: second, content };
}

/** What a process still writes that was replaced: nobody gets an answer, and it does not count. */
async function writeLate(
  before: Life,
  directory: string,
  writes: number,
  random: SimRandom,
): Promise<void> {
  for (let count = 0; count < writes; count += 1) await commitSome(before.store, random);
  for (const name of await readdir(join(before.directory, journalFolder))) {
    const late = join(before.directory, journalFolder, name);
    const retired = join(directory, journalFolder, name.endsWith('.old') ? name : `${name}.old`);
    await cp(late, retired, { recursive: true }).catch(unlessRemoved);
  }
}

async function journalFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(join(directory, journalFolder), {
    recursive: true,
    withFileTypes: true,
  });
  const paths = entries.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
  return paths.toSorted();
}

/** Replaces a part of a directory by that of another one, or of an earlier copy. */
async function replace(directory: string, other: string, name: string): Promise<void> {
  await rm(join(directory, name), { recursive: true, force: true });
  await cp(join(other, name), join(directory, name), { recursive: true });
}

/** What may become of a directory in wrong hands, or on a bad disk. */
interface Misfortune {
  /** Within `journal`. */
  readonly path: string;
  readonly directory: string;
  readonly earlier: string;
  /** Of a server with other data. */
  readonly other: string;
  readonly random: SimRandom;
}

const deeds = {
  nothing: () => Promise.resolve(),
  bit: async ({ path, random }) => {
    const content = await readFile(path);
    const at = random.pick([random.int(content.length), blockBytes + random.int(blockBytes)]);
    content[at] = (content[at] ?? 0) ^ (1 << random.int(8));
    await writeFile(path, content);
  },
  cut: async ({ path, random }) => truncate(path, random.int((await stat(path)).size)),
  longer: async ({ path, random }) =>
    truncate(path, (await stat(path)).size + random.int(3 * blockBytes)),
  copy: ({ path }) => cp(path, `${path}x`),
  remove: ({ path }) => rm(path),
  renamed: ({ path }) => rename(path, `${path}x`),
  folder: ({ path }) => rm(dirname(path), { recursive: true }),
  twice: ({ path }) => cp(dirname(path), `${dirname(path)}.old`, { recursive: true }),
  journal: ({ directory }) => rm(join(directory, journalFolder), { recursive: true }),
  formerData: ({ directory, earlier }) => replace(directory, earlier, 'data.mdb'),
  formerJournal: ({ directory, earlier }) => replace(directory, earlier, journalFolder),
  otherData: ({ directory, other }) => replace(directory, other, 'data.mdb'),
  otherJournal: ({ directory, other }) => replace(directory, other, journalFolder),
  otherFolder: async ({ directory, other, random }) => {
    const name = random.pick(await readdir(join(other, journalFolder)));
    await replace(directory, other, join(journalFolder, name));
  },
} satisfies Record<string, (misfortune: Misfortune) => Promise<void>>;

type Deed = keyof typeof deeds;

const deedNames = Object.keys(deeds).filter((name): name is Deed => name in deeds);

/** What nobody can tell afterwards, and what gives the directory to other data. */
const untold: ReadonlySet<Deed> = new Set(['bit', 'formerJournal', 'otherData']);

/** What a store may have that starts: any of them. */
function contentsAfter(deed: Deed, { content, unanswered }: Killed): readonly Content[] {
  return deed === 'formerData' ? [content, ...unanswered] : [content];
}

async function corrupt(
  killed: Killed,
  other: Killed,
  deed: Deed,
  random: SimRandom,
): Promise<void> {
  const { directory, earlier } = killed;
  await deeds[deed]({
    path: random.pick(await journalFiles(directory)),
    directory,
    earlier: random.pick([earlier.at(-1) ?? directory, ...earlier]),
    other: other.directory,
    random,
  });
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
    'tells the openings of a directory from each other and from those of another',
    costly(),
    async (t) => {
      const folder = await temporaryFolder(t);
      const random = new SimRandom(seed);
      const [own, other] = ['own', 'other'].map((name) => join(folder, name));
      assert.ok(own !== undefined && other !== undefined);
      const { killed, closed, content } = await severalOpenings(own, random);
      const foreign = (await severalOpenings(other, random)).killed;
      const opening = join(own, 'opening');
      await copyOfKilled(killed, opening);
      await replace(opening, foreign, join(journalFolder, '1.old'));
      await replace(closed, foreign, journalFolder);
      const directories = [killed, opening, closed];
      const listings = await listingsOf(directories);
      for (const [index, directory] of directories.entries()) {
        const listing = listings[index];
        assert.ok(listing !== undefined);
        assert.equal('refused' in listing, directory !== killed, directory);
        await assertAgree(directory, listing, [content]);
      }
    },
  );

  it(
    'refuses older copies of the data file alone and of the journal alone',
    costly(),
    async (t) => {
      const folder = await temporaryFolder(t);
      const random = new SimRandom(seed);
      const directory = join(folder, 'live');
      const copies = ['before', 'olderData', 'olderJournal'].map((name) => join(folder, name));
      const [before, olderData, olderJournal] = copies;
      assert.ok(before !== undefined && olderData !== undefined && olderJournal !== undefined);
      const store = await open(directory);
      await commitSome(store, random);
      await copyOfKilled(directory, before);
      await commitSome(store, random);
      // The note covers what was before.
      await store.restoreSnapshot();
      await commitSome(store, random);
      for (const copy of [olderData, olderJournal]) await copyOfKilled(directory, copy);
      await replace(olderData, before, 'data.mdb');
      await replace(olderJournal, before, journalFolder);
      await store.close();
      for (const copy of [olderData, olderJournal]) {
        const [listing] = await listingsOf([copy]);
        assert.ok(listing !== undefined && 'refused' in listing, copy);
        await assertAgree(copy, listing);
      }
    },
  );

  it(
    `agrees with the store on ${images} directories, most of them corrupted (seed ${seed})`,
    costly(),
    async (t) => {
      const random = new SimRandom(seed);
      const folder = await temporaryFolder(t);
      const first = random.int(deedNames.length);
      const made: { readonly killed: Killed; readonly deed: Deed }[] = [];
      let other = await killedServer(join(folder, 'other'), random);
      for (let image = 0; image < images; image += 1) {
        const killed = await killedServer(join(folder, `${image}`), random);
        const whole = { ...killed, directory: join(folder, `whole${image}`) };
        await copyOfKilled(killed.directory, whole.directory);
        const deed = deedNames[(first + image) % deedNames.length] ?? 'nothing';
        await corrupt(killed, other, deed, random);
        made.push({ killed, deed });
        other = whole;
      }
      const listings = await listingsOf(made.map(({ killed }) => killed.directory));
      for (const [index, { killed, deed }] of made.entries()) {
        const listing = listings[index];
        assert.ok(listing !== undefined);
        const written = untold.has(deed) ? [] : contentsAfter(deed, killed);
        await assertAgree(killed.directory, listing, written).catch((cause: unknown) => {
          throw new Error(`image ${index}, '${deed}', of seed ${seed}`, { cause });
        });
      }
    },
  );
});
