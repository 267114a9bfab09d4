import assert from 'node:assert/strict';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { DiskContentFiles } from '../../content/files/disk-files.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { locationOfContent } from './content-location.js';

void it('is the same for all servers with the files of the first one, and refused for others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-location-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const store = await openMemoryStore({ clock: systemClock });
  const root = new DiskContentFiles(folder);
  for (const name of ['first', 'second']) await root.makeFolder(name);
  const location = (name: string, shown: string) => ({
    files: new DiskContentFiles(join(folder, name)),
    shown,
    randomness: systemRandomness,
  });
  assert.equal(await locationOfContent(store, location('first', 'alpha in /data')), undefined);
  assert.equal(await locationOfContent(store, location('first', 'alpha in /data')), undefined);
  assert.equal(await locationOfContent(store, location('first', 'beta in /mnt')), undefined);
  assert.equal(
    await locationOfContent(store, location('second', 'beta in /own')),
    'alpha in /data',
  );
  assert.deepEqual(await readdir(join(folder, 'second')), []);
  await rename(join(folder, 'first'), join(folder, 'moved'));
  assert.equal(await locationOfContent(store, location('moved', 'alpha in /moved')), undefined);
});

void it('is one location when several servers start on it at the same time', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-location-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const store = await openMemoryStore({ clock: systemClock });
  const files = new DiskContentFiles(folder);
  const locations = await Promise.all(
    Array.from({ length: 4 }, (_, server) =>
      locationOfContent(store, { files, shown: `server ${server}`, randomness: systemRandomness }),
    ),
  );
  assert.deepEqual(locations, [undefined, undefined, undefined, undefined]);
  assert.equal((await readdir(folder)).length, 1);
});
