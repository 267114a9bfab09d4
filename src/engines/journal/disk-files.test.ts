import assert from 'node:assert/strict';
import promises, { mkdir, readdir, rm, rmdir, truncate, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { damaged } from '../../../test/support/journals.js';
import { DiskFiles } from './disk-files.js';
import { blockBytes } from './frame.js';

const head = Buffer.alloc(blockBytes, 1);

async function location() {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const folder = join(directory, 'journal');
  const open = () => new DiskFiles({ directory, sync: true });
  return { folder, open, [Symbol.asyncDispose]: remove };
}

async function beginIn(files: DiskFiles, generation: number) {
  await files.retire();
  await files.begin(generation);
  return files.create(1, head, 3 * blockBytes);
}

describe('files of a journal on a disk', () => {
  it('have their head, zeros and the head again, before they are used', async () => {
    await using at = await location();
    await (await beginIn(at.open(), 1)).close();
    const files = at.open();
    assert.deepEqual(await files.retire(), [1]);
    for await (const { content } of files.retired()) {
      assert.deepEqual(content, Buffer.concat([head, Buffer.alloc(blockBytes), head]));
    }
  });

  it('are made when an earlier opening removes the empty folder meanwhile', async (t) => {
    await using at = await location();
    const make = promises.mkdir;
    let removals = 0;
    t.mock.method(promises, 'mkdir', async (...given: Parameters<typeof make>) => {
      const made = await make(...given);
      if (given[0] !== at.folder || removals === 2) return made;
      removals += 1;
      await rmdir(at.folder);
      return made;
    });
    syncBuiltinESMExports();
    try {
      await (await beginIn(at.open(), 1)).close();
    } finally {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.equal(removals, 2);
    assert.deepEqual(await readdir(at.folder), ['1']);
  });

  it('are refused where they cannot be of a journal, before they are read', async () => {
    await using at = await location();
    await (await beginIn(at.open(), 1)).close();
    const refused = async (message: RegExp) => {
      const files = at.open();
      await files.retire();
      await assert.rejects(async () => {
        for await (const { content } of files.retired()) assert.ok(content.length > 0);
      }, damaged(message));
    };
    const large = join(at.folder, '1.old', 'large');
    await at.open().retire();
    await writeFile(large, '');
    await truncate(large, 3 * 2 ** 30);
    await refused(/1\.old.large has 3221225472 bytes: no file of a journal is so large/);
    await rm(large);
    const names = Array.from({ length: 1_000 }, (_, at) => `${at}`);
    await Promise.all(names.map((name) => writeFile(join(at.folder, '1.old', name), '')));
    await refused(/1\.old has 1001 files: a journal has a few dozen there/);
  });

  it('are not in place any more when a later opening has retired them', async () => {
    await using at = await location();
    const file = await beginIn(at.open(), 1);
    assert.equal(file.detachment(), undefined);
    const later = await beginIn(at.open(), 2);
    assert.match(file.detachment() ?? '', /^was moved, replaced or removed/);
    assert.equal(later.detachment(), undefined);
    await file.close();
    await later.close();
  });

  it('of a later opening, and those that it has to read, are left where they are', async () => {
    await using at = await location();
    const before = at.open();
    const file = await beginIn(before, 1);
    await at.open().retire();
    await before.removeRetired();
    assert.deepEqual(await readdir(at.folder), ['1.old']);
    const later = await beginIn(at.open(), 2);
    await before.removeAll();
    assert.deepEqual(await readdir(at.folder), ['2']);
    await file.close();
    await later.close();
  });

  it('are read without those that a replaced process removes meanwhile', async () => {
    await using at = await location();
    const folder = join(at.folder, '1.old');
    await mkdir(folder, { recursive: true });
    for (const name of ['000001', '000002', '000003']) await writeFile(join(folder, name), name);
    const read: string[] = [];
    for await (const { content } of at.open().retired()) {
      read.push(content.toString());
      await rm(join(folder, '000002'), { force: true });
    }
    assert.deepEqual(read, ['000001', '000003']);
  });

  it('are read from the last: what is removed meanwhile is not behind what was read', async () => {
    await using at = await location();
    for (const folder of ['1.old', '2.old', '10.old']) {
      await mkdir(join(at.folder, folder), { recursive: true });
      await writeFile(join(at.folder, folder, '000001'), folder);
    }
    const read: string[] = [];
    for await (const { content } of at.open().retired()) {
      read.push(content.toString());
      if (read.length === 1) await rm(join(at.folder, '1.old'), { recursive: true });
    }
    assert.deepEqual(read, ['10.old', '2.old']);
  });

  it('are not taken where two folders stand for one opening, and stay as they are', async () => {
    await using at = await location();
    await (await beginIn(at.open(), 1)).close();
    await (await beginIn(at.open(), 2)).close();
    await mkdir(join(at.folder, '2.old'));
    await assert.rejects(at.open().retire(), /has both 2 and 2\.old, .* No data were changed\./);
    await assert.rejects(at.open().retired().next(), /has both 2 and 2\.old/);
    assert.deepEqual(await readdir(at.folder), ['1.old', '2', '2.old']);
  });

  it('are refused by whoever reads them when a generation is no folder', async () => {
    await using at = await location();
    await mkdir(at.folder);
    await writeFile(join(at.folder, '7'), '');
    const refusal = /7 is a regular file, not a directory/;
    await assert.rejects(at.open().retire(), refusal);
    await assert.rejects(at.open().retired().next(), refusal);
  });

  it('are not taken where a generation has a number that none can have', async () => {
    await using at = await location();
    await mkdir(join(at.folder, '999999999999999'), { recursive: true });
    await assert.rejects(at.open().retire(), damaged(/9{15} has a number that/));
    assert.deepEqual(await readdir(at.folder), ['999999999999999']);
  });

  it('are nowhere when all was removed', async () => {
    await using at = await location();
    await (await beginIn(at.open(), 1)).close();
    const files = at.open();
    await (await beginIn(files, 2)).close();
    await files.removeAll();
    await assert.rejects(readdir(at.folder), { code: 'ENOENT' });
  });

  it('of many earlier generations are removed until the signal comes, and then those left', async () => {
    await using at = await location();
    const many = 40;
    await mkdir(at.folder);
    for (let number = 1; number <= many; number += 1) {
      await mkdir(join(at.folder, `${number}.old`));
      await writeFile(join(at.folder, `${number}.old`, '000001'), '');
    }
    const files = at.open();
    await (await beginIn(files, many + 1)).close();
    const removal = new AbortController();
    const removing = files.removeRetired(removal.signal);
    while ((await readdir(at.folder)).length > many - 5) await pause(0);
    removal.abort();
    await removing;
    const left = (await readdir(at.folder)).length;
    assert.ok(left > 1 && left < many, `${left} folders are left`);
    await files.removeAll(removal.signal);
    assert.equal((await readdir(at.folder)).length, left);
    await files.removeAll();
    await assert.rejects(readdir(at.folder), { code: 'ENOENT' });
  });

  it('are in a folder that a removal leaves to the next opening once the signal came', async () => {
    await using at = await location();
    await mkdir(at.folder);
    await at.open().removeAll(AbortSignal.abort());
    assert.deepEqual(await readdir(at.folder), []);
  });

  it('that exist are never taken for a new one, nor removed', async () => {
    await using at = await location();
    const files = at.open();
    await (await beginIn(files, 1)).close();
    await assert.rejects(files.create(1, head, 3 * blockBytes), { code: 'EEXIST' });
    assert.deepEqual(await readdir(join(at.folder, '1')), ['000001']);
  });
});
