import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { backupFiles } from '../../src/modeling/patterns/shard-map-manager/index.js';
import { filledShards } from './support/memory-shards.js';
import { costly } from '../support/run-length.js';

const directory = await mkdtemp(join(tmpdir(), 'tabularium-killed-backup-'));
after(() => rm(directory, { recursive: true }));

const library = new URL('../../src/modeling/patterns/shard-map-manager/index.js', import.meta.url);
const name = 'north/2024-05-30T00-00-00.000Z_6f3e21aa/';

/** A program that has written a part of a file, more than it holds in memory, and tells it. */
const program = `
  import { backupFiles } from ${JSON.stringify(library.href)};
  async function* lines() {
    for (let line = 0; line < 6000; line += 1) yield '{}'.padEnd(999) + '\\n';
    process.stdout.write('begun');
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  }
  await backupFiles(${JSON.stringify(directory)}).write(${JSON.stringify(`${name}orders.jsonl`)}, lines());
`;

it(
  'a backup whose program was killed is none, and its file is deleted a day later',
  costly(),
  async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const isEnded = once(child, 'exit').then(() => assert.fail('the program has ended by itself'));
    await Promise.race([once(child.stdout, 'data'), isEnded]);
    child.kill('SIGKILL');
    await isEnded.catch(() => undefined);
    const { shards } = await filledShards();
    const clock = manualClock(Date.parse('2024-05-30T01:00:00Z') * 1000);
    const manager = shards.manager((port) => port, { clock });
    await manager.setShard('north', { holds: ['ledger'] });
    const store = backupFiles(directory);
    const left = await store.list(name);
    assert.equal(left.length, 1);
    assert.match(left[0] ?? '', /\/orders\.jsonl\.[0-9a-f-]+\.partial$/);
    assert.deepEqual(await manager.backups.namesOf(store, 'north'), []);
    await assert.rejects(manager.backups.restore(store, name), {
      name: 'ManagerError',
      message: /is no whole backup: it has no backup\.json/,
    });
    const schedule = { to: store, intervals: { ledger: 3_600_000 }, keep: 1 };
    assert.deepEqual((await manager.backups.makeDue(schedule)).deleted, []);
    clock.advanceMicros(25 * 3_600_000_000);
    const { made, deleted } = await manager.backups.makeDue(schedule);
    assert.ok(deleted.includes(name));
    // Nothing else is left, no directory either.
    assert.deepEqual(await readdir(join(directory, 'north')), [made[0]?.name.split('/')[1]]);
  },
);

/** A program without the rights of root that lists its backups, and tells what it gets. */
const listing = (place: string): string => `
  import { backupFiles } from ${JSON.stringify(library.href)};
  if (process.getuid?.() === 0) process.setuid(65534);
  const told = await backupFiles(${JSON.stringify(place)}).list('').catch(String);
  process.stdout.write(String(told));
`;

it('a directory of backups that may not be entered is told by the path that bars it', async () => {
  const parent = join(directory, 'barred');
  const place = join(parent, 'made', 'backups');
  await mkdir(parent);
  await chmod(directory, 0o755);
  await chmod(parent, 0o600);
  const child = spawn(process.execPath, ['--input-type=module', '-e', listing(place)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  child.stdout.on('data', (chunk: Buffer) => (told += chunk.toString()));
  await once(child, 'close');
  await chmod(parent, 0o700);
  assert.ok(told.startsWith(`ManagerError: the directory of backups '${place}' cannot be used: `));
  assert.match(told, /EACCES/);
  const [, barred = ''] =
    /; let this program enter '(.+)', or name another directory$/.exec(told) ?? [];
  // A directory above it where temporary files are kept from other users.
  assert.ok(barred !== '' && parent.startsWith(barred), told);
});
