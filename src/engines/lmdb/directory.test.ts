import assert from 'node:assert/strict';
import { execFileSync, spawn as spawnProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  open as openFile,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { describe } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { spawnLmdbStore, temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import type { Store } from '../../kv/store.js';
import type { LmdbStoreOptions } from './store.js';
import { openLmdbStore } from './store.js';
import { costly } from '../../../test/support/run-length.js';

const clock = manualClock();
const key = Buffer.from('key');

async function location(t: TestContext): Promise<string> {
  const { directory, remove } = await temporaryLocation();
  t.after(remove);
  return directory;
}

/** Opens the store until the test ends. */
async function open(t: TestContext, options: Omit<LmdbStoreOptions, 'clock'>) {
  const store = await openLmdbStore({ clock, ...options });
  t.after(() => store.close());
  return store;
}

/** Opens the store in another process, which ends with the test at the latest. */
async function spawn(t: TestContext, directory: string) {
  const child = await spawnLmdbStore(directory, 'exclusive');
  t.after(() => child.kill());
  return child;
}

async function put(store: Store, text: string) {
  const puts = [{ key, value: Buffer.from(text) }];
  return store.commit({ checks: [], puts, deletes: [] });
}

const holder = fileURLToPath(
  new URL('../../../test/support/hold-snapshot-child.js', import.meta.url),
);
/** The kind that glibc gives a robust mutex between processes, and the one of a destroyed mutex. */
const robustShared = 0x90;
const destroyed = -1;

/** The effect of LMDB when it believes that it is the last to close the environment. */
async function destroyMutexes(path: string): Promise<void> {
  const file = await openFile(path, 'r+');
  const { buffer } = await file.read(Buffer.alloc(8272), 0, 8272, 0);
  const places = Array.from({ length: buffer.length / 4 }, (_, index) => 4 * index);
  const kinds = places.filter((place) => buffer.readInt32LE(place) === robustShared);
  assert.ok(kinds.length > 0);
  for (const place of kinds) buffer.writeInt32LE(destroyed, place);
  await file.write(buffer, 0, buffer.length, 0);
  await file.close();
}

describe('data directory', () => {
  it('is created where there is nothing, and says what it is', async (t) => {
    const directory = join(await location(t), 'deep', 'down');
    await open(t, { directory });
    const format: unknown = JSON.parse(await readFile(join(directory, 'format'), 'utf8'));
    assert.deepEqual(format, { product: 'tabularium', format: 2 });
  });

  it('is made of an empty directory, whatever the file system keeps in it', async (t) => {
    const directory = await location(t);
    await mkdir(join(directory, 'lost+found'), { recursive: true });
    await open(t, { directory });
  });

  it('is not made of a directory with other files, which the error names', async (t) => {
    const directory = await location(t);
    await mkdir(directory);
    await writeFile(join(directory, 'holiday.jpg'), '');
    const message = /holiday\.jpg.*Choose an empty or a new directory/;
    await assert.rejects(open(t, { directory }), { reason: 'foreign', message });
    assert.deepEqual(await readdir(directory), ['holiday.jpg'], 'nothing was written to it');
  });

  it('is for its owner alone, also one that was made for everybody', async (t) => {
    if (process.platform === 'win32') return t.skip('Windows gives rights in another way');
    const directory = await location(t);
    const modes = async () => {
      const names = (await readdir(directory)).map((name) => join(directory, name));
      const found = await Promise.all([directory, ...names].map((path) => stat(path)));
      return new Set(found.map((each) => each.mode & 0o077));
    };
    const warnings: string[] = [];
    const events = { exposed: (warning: string) => warnings.push(warning) };
    const first = await open(t, { directory, events });
    assert.deepEqual(await modes(), new Set([0]));
    await first.close();
    for (const name of await readdir(directory)) await chmod(join(directory, name), 0o644);
    await chmod(directory, 0o755);
    const second = await open(t, { directory, events });
    assert.deepEqual(await modes(), new Set([0]));
    await second.close();
    assert.deepEqual(warnings, []);
    if (process.geteuid?.() !== 0) return;
    await chown(join(directory, 'format'), 65_534, 65_534);
    await open(t, { directory, events });
    assert.match(warnings.join(), /format belongs to another user \(65534\)/);
  });

  it('is not made where no directory can be', async (t) => {
    if (!existsSync('/proc/self')) return t.skip('there is no /proc');
    const message =
      /^The data directory \/proc\S+ cannot be used: it cannot be made there\. Choose/;
    const refused = { reason: 'place', message };
    await assert.rejects(open(t, { directory: '/proc/tabularium/data' }), refused);
  });

  it('is not made of a file, in one, or under a name that no directory can have', async (t) => {
    const directory = await location(t);
    await writeFile(directory, '');
    const noDirectory = { reason: 'place', message: /something that is no directory\. Choose/ };
    await assert.rejects(open(t, { directory }), noDirectory);
    await assert.rejects(open(t, { directory: join(directory, 'data') }), noDirectory);
    const long = { reason: 'place', message: /its name is too long/ };
    await assert.rejects(open(t, { directory: `${directory}${'x'.repeat(300)}` }), long);
  });

  it('of a newer format is refused, with both numbers and what to do', async (t) => {
    const directory = await location(t);
    await mkdir(directory);
    await writeFile(join(directory, 'format'), '{"product":"tabularium","format":7}');
    const message = /has format 7; this release reads up to format 2\. Use the release that wrote/;
    await assert.rejects(open(t, { directory }), { reason: 'newer-format', message });
    assert.deepEqual(await readdir(directory), ['format']);
  });

  it('of an older format is refused, with both numbers and what to do', async (t) => {
    const directory = await location(t);
    await mkdir(directory);
    await writeFile(join(directory, 'format'), '{"product":"tabularium","format":1}');
    const message = /has format 1; this release reads format 2 only\. Use the release that wrote/;
    await assert.rejects(open(t, { directory }), { reason: 'older-format', message });
    assert.deepEqual(await readdir(directory), ['format']);
  });

  it('is refused when its data file is gone, and not begun anew', async (t) => {
    const directory = await location(t);
    await (await openLmdbStore({ directory, clock })).close();
    await rm(join(directory, 'data.mdb'));
    const refused = {
      reason: 'damaged',
      message: /data\.mdb is damaged: it is missing or empty\. /,
    };
    await assert.rejects(open(t, { directory }), refused);
    await writeFile(join(directory, 'data.mdb'), '');
    await assert.rejects(open(t, { directory }), refused);
  });

  it('is refused when its format or its data file is damaged', async (t) => {
    for (const text of ['', 'null', '{"product":"other","format":1}', '{"product":"tabularium"}']) {
      const directory = await location(t);
      await mkdir(directory);
      await writeFile(join(directory, 'format'), text);
      await assert.rejects(open(t, { directory }), { reason: 'damaged' });
    }
    const directory = await location(t);
    await (await openLmdbStore({ directory, clock })).close();
    await writeFile(join(directory, 'data.mdb'), 'not an environment'.repeat(10_000));
    await assert.rejects(open(t, { directory }), { reason: 'damaged', message: /data\.mdb/ });
  });

  const notRegular: Record<string, (path: string) => unknown> = {
    'a pipe': (path) => execFileSync('mkfifo', [path]),
    'a directory': (path) => mkdirSync(path),
    'a symbolic link to a file': (path) => symlinkSync(`${path}.elsewhere`, path),
    'a symbolic link to a device': (path) => symlinkSync('/dev/null', path),
    'a symbolic link to nothing': (path) => symlinkSync(`${path}.nowhere`, path),
  };
  for (const [what, make] of Object.entries(notRegular)) {
    it(`is refused at once when one of its files is ${what}`, async (t) => {
      if (process.platform === 'win32') return t.skip('Windows has no such files');
      const directory = await location(t);
      await (await openLmdbStore({ directory, clock })).close();
      for (const name of ['format', 'data.mdb', 'data.mdb-lock']) {
        const path = join(directory, name);
        const elsewhere = `${path}.elsewhere`;
        await rename(path, `${path}.kept`);
        await writeFile(elsewhere, 'of somebody else');
        make(path);
        const message = new RegExp(`${name} is a (pipe|directory|symbolic link), not a regular`);
        await assert.rejects(open(t, { directory }), { reason: 'foreign', message });
        assert.equal(await readFile(elsewhere, 'utf8'), 'of somebody else');
        assert.equal(existsSync(`${path}.nowhere`), false);
        await rm(path, { recursive: true });
        await rename(`${path}.kept`, path);
      }
      await open(t, { directory });
    });
  }
});

describe('lock of a data directory', () => {
  it('keeps a second store out of the same process', async (t) => {
    const directory = await location(t);
    const store = await open(t, { directory });
    const inUse = { reason: 'in-use', message: new RegExp(`by process ${process.pid}, which is`) };
    for (const sharing of ['exclusive', 'join'] as const) {
      await assert.rejects(open(t, { directory, sharing }), inUse);
      await assert.rejects(open(t, { directory: `${directory}/../data`, sharing }), inUse);
    }
    assert.equal((await put(store, 'still works')).ok, true);
    await store.close();
    await open(t, { directory });
  });

  it('keeps a second owner out of another process, until the first closes', costly(), async (t) => {
    const directory = await location(t);
    const child = await spawn(t, directory);
    const inUse = /is in use by process \d+ \(since 20\S+Z\)\. Stop it, or choose another/;
    await assert.rejects(open(t, { directory }), { reason: 'in-use', message: inUse });
    await child.store.close();
    await open(t, { directory });
  });

  it('passes on when its owner is killed, and what it left is cleaned up', costly(), async (t) => {
    const directory = await location(t);
    for (let round = 0; round < 3; round += 1) {
      const child = await spawn(t, directory);
      await put(child.store, `round ${round}`);
      await child.kill();
    }
    const store = await open(t, { directory });
    assert.equal(String((await store.get(key))?.value), 'round 2');
    const sockets = (await readdir(directory)).filter((name) => name.endsWith('.sock'));
    assert.ok(sockets.length <= 1, sockets.join());
  });

  it('goes to exactly one of many that want it after its owner was killed', costly(), async (t) => {
    const directory = await location(t);
    const killed = await spawn(t, directory);
    await killed.kill();
    const attempts = Array.from({ length: 6 }, () => spawn(t, directory));
    const settled = await Promise.allSettled(attempts);
    const opened = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    assert.equal(opened.length, 1);
    assert.equal((await put(opened[0]?.store ?? assert.fail(), 'mine')).ok, true);
    await opened[0]?.store.close();
  });

  it('is taken although a process that has it open destroyed its mutexes', costly(), async (t) => {
    if (process.platform !== 'linux') return t.skip('the kind of a mutex is that of glibc');
    const directory = await location(t);
    await (await openLmdbStore({ directory, clock })).close();
    const child = spawnProcess(process.execPath, [holder, directory]);
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await destroyMutexes(join(directory, 'data.mdb-lock'));
    const opening = open(t, { directory });
    opening.catch(() => undefined);
    await setTimeout(200);
    child.kill('SIGKILL');
    assert.equal((await put(await opening, 'mine')).ok, true);
  });

  it('works in a directory whose path is too long for a socket', costly(), async (t) => {
    const directory = join(await location(t), 'long'.repeat(30), 'longer'.repeat(30));
    await spawn(t, directory);
    await assert.rejects(open(t, { directory }), { reason: 'in-use' });
    const socket = (await readdir(directory)).find((name) => name.endsWith('.sock'));
    assert.ok(socket !== undefined && (await stat(join(directory, socket))).isSocket());
    const links = (await readdir(tmpdir())).filter((name) => name.startsWith('tabularium-lock-'));
    assert.deepEqual(links, []);
  });

  it('lets workers join while there is an owner, and only then', costly(), async (t) => {
    const directory = await location(t);
    const join = { directory, sharing: 'join' } as const;
    await assert.rejects(open(t, join), { reason: 'no-owner' });
    const owner = await spawn(t, directory);
    const worker = await open(t, join);
    await put(owner.store, 'shared');
    assert.equal(String((await worker.get(key))?.value), 'shared');
    await worker.close();
    await assert.rejects(open(t, { directory }), { reason: 'in-use' }, 'the owner is still there');
    await owner.store.close();
    await assert.rejects(open(t, join), { reason: 'no-owner' });
  });

  it('does not keep a process alive that forgot to close', costly(), async (t) => {
    const directory = await location(t);
    const child = await spawn(t, directory);
    await child.disconnect();
    await open(t, { directory });
  });
});
