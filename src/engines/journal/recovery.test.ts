import assert from 'node:assert/strict';
import {
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import {
  damaged,
  journalDirectory,
  putRow,
  rowKey,
  rowOf,
  untilFolders,
  withWrites,
} from '../../../test/support/journals.js';
import { CommitUnknownError, StoreWriteError } from '../../kv/errors.js';
import { blockBytes } from './frame.js';
import { deferred } from '../../base/async/deferred.js';

/** The journal file of an opening. */
async function fileIn(directory: string, generation: string, name = '000001') {
  return join(directory, 'journal', generation, name);
}

async function corrupt(path: string, at: number): Promise<void> {
  const content = await readFile(path);
  content[at] = (content[at] ?? 0) ^ 1;
  await writeFile(path, content);
}

/** Of a file that holds two frames of a block. */
const fewFrames = { fileBytes: 5 * blockBytes };

/** Files of which these writes fail, counted from 1. A write that fails is annulled by the next. */
function failingFrom(...failing: readonly number[]) {
  let writes = 0;
  return withWrites((write) => async (bytes, position) => {
    writes += 1;
    if (failing.includes(writes)) throw new Error('EIO');
    await write(bytes, position);
  });
}

describe('recovery of a journal', () => {
  it('finds all that was acknowledged before a kill, and versions rise on', async () => {
    await using made = await journalDirectory();
    let last = 0;
    for (let life = 0; life < 4; life += 1) {
      const store = await made.open();
      for (let before = 0; before < life; before += 1) {
        assert.equal(await rowOf(store, `life ${before}`), `${before}`);
      }
      const version = await putRow(store, `life ${life}`, `${life}`);
      assert.ok(version > last);
      last = version;
    }
  });

  it('opens again after a kill before the first write', async () => {
    await using made = await journalDirectory();
    for (let life = 0; life < 3; life += 1) await made.open();
    const store = await made.open();
    await putRow(store, 'a');
    await store.close();
    assert.deepEqual(await readdir(made.directory), []);
    assert.equal(await rowOf(made.memory, 'a'), 'a');
  });

  it('takes away what former openings left when the data file has it', async () => {
    await using made = await journalDirectory();
    for (let life = 0; life < 3; life += 1) await putRow(await made.open(), `life ${life}`);
    const store = await made.open();
    await store.takeSnapshot();
    await untilFolders(made.directory, ['4']);
    const again = await made.open();
    assert.equal(await rowOf(again, 'life 2'), 'life 2');
  });

  it('tells how many files of former openings it has read', async () => {
    await using made = await journalDirectory();
    for (let life = 0; life < 3; life += 1) await putRow(await made.open(), `life ${life}`);
    const told: string[] = [];
    await made.open({ onRead: (files, openings) => told.push(`${files} of ${openings}`) });
    assert.deepEqual(told, ['1 of 3', '2 of 3', '3 of 3']);
  });

  it('takes a last frame that is not whole for none, and one before others for damage', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    for (const name of ['a', 'b', 'c']) await putRow(store, name);
    const path = await fileIn(made.directory, '1');
    await corrupt(path, 3 * blockBytes + 60);
    const next = await made.open();
    assert.deepEqual([await rowOf(next, 'b'), await rowOf(next, 'c')], ['b', undefined]);
    await putRow(next, 'd');
    await corrupt(await fileIn(made.directory, '1.old'), 2 * blockBytes + 60);
    await assert.rejects(made.open(), damaged(/has frame 3, and lacks frame 2/));
  });

  it('notices that a file, or all of the journal, is missing', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: { fileBytes: 5 * blockBytes } });
    for (let count = 0; count < 9; count += 1) await putRow(store, `${count}`);
    const second = await fileIn(made.directory, '1', '000002');
    await rename(second, join(made.directory, 'second'));
    await assert.rejects(made.open(), damaged(/has frame 5, and lacks frame 3/));
    await rename(join(made.directory, 'journal'), join(made.directory, 'elsewhere'));
    await assert.rejects(made.open(), damaged(/^The journal \S+journal is missing/));
    await rename(join(made.directory, 'elsewhere'), join(made.directory, 'journal'));
    await rename(join(made.directory, 'second'), await fileIn(made.directory, '1.old', '000002'));
    assert.equal(await rowOf(await made.open(), '8'), '8');
  });

  it('notices that the last file is missing, whether another stands beside it or not', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: { fileBytes: 5 * blockBytes } });
    for (let count = 0; count < 3; count += 1) await putRow(store, `${count}`);
    const aside = join(made.directory, 'aside');
    const last = await fileIn(made.directory, '1', '000002');
    await rename(last, aside);
    const lacks = /lacks file 2 of generation 1, which was to hold frame 3/;
    await assert.rejects(made.open(), damaged(lacks));
    await rename(aside, await fileIn(made.directory, '1.old', '000002'));
    const next = await made.open();
    assert.equal(await rowOf(next, '2'), '2');
    // Its first file has the frames, its second one none.
    await putRow(next, 'alone');
    await rename(await fileIn(made.directory, '2'), aside);
    await assert.rejects(made.open(), damaged(/^The journal \S+ (lacks file 1 of|is missing)/));
    await rename(aside, await fileIn(made.directory, '2.old'));
    await rm(await fileIn(made.directory, '1.old', '000002'));
    // The frames behind are those of a later opening.
    await assert.rejects(made.open(), damaged(/lacks (file 2 of generation 1|frame 3)/));
  });

  it('notices the missing end of the last file, which may have had the last acknowledged commits', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: { fileBytes: 8 * blockBytes } });
    for (const name of ['a', 'b', 'c']) await putRow(store, name);
    const path = await fileIn(made.directory, '1');
    const whole = await readFile(path);
    const old = await fileIn(made.directory, '1.old');
    // Behind all frames, in the middle of one, and before the first.
    for (const bytes of [6 * blockBytes, 2 * blockBytes + 20, 5_000, blockBytes]) {
      await rm(join(made.directory, 'journal'), { recursive: true });
      await mkdir(join(made.directory, 'journal', '1'), { recursive: true });
      await writeFile(path, whole.subarray(0, bytes));
      await assert.rejects(made.open(), damaged(/1\.old.000001 has lost its end/));
    }
    await writeFile(old, whole);
    assert.equal(await rowOf(await made.open(), 'c'), 'c');
  });

  it('accepts a missing end where a file was only begun, or another one follows', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: fewFrames });
    for (const name of ['a', 'b', 'c']) await putRow(store, name);
    const [first, second] = await Promise.all(
      ['000001', '000002'].map((name) => readFile(join(made.directory, 'journal', '1', name))),
    );
    assert.ok(first !== undefined && second !== undefined);
    await truncate(await fileIn(made.directory, '1'), first.length - 1);
    // As a process leaves it that is killed while it makes the next one.
    const begun = Buffer.from(second.subarray(0, blockBytes));
    begun.writeUInt32LE(9, 12);
    begun.writeUInt32LE(crc32(begun.subarray(8, 60)), 4);
    await writeFile(await fileIn(made.directory, '1', '000009'), begun);
    const next = await made.open();
    assert.deepEqual([await rowOf(next, 'a'), await rowOf(next, 'c')], ['a', 'c']);
  });

  it('refuses files of a format that it cannot read, and a copy beside a file', async () => {
    await using made = await journalDirectory();
    await putRow(await made.open(), 'a');
    const path = await fileIn(made.directory, '1');
    const whole = await readFile(path);
    const later = Buffer.from(whole);
    for (const head of [0, later.length - blockBytes]) {
      later.writeUInt32LE(2, head + 8);
      later.writeUInt32LE(crc32(later.subarray(head + 8, head + 60)), head + 4);
    }
    await writeFile(path, later);
    await assert.rejects(
      made.open(),
      damaged(/000001 has format 2, and this release reads format 1/),
    );
    const copy = await fileIn(made.directory, '1.old', 'copy of 000001');
    for (const name of [await fileIn(made.directory, '1.old'), copy]) await writeFile(name, whole);
    await assert.rejects(made.open(), damaged(/has both \S+000001 and .+copy of 000001/));
    await unlink(copy);
    assert.equal(await rowOf(await made.open(), 'a'), 'a');
  });

  it('refuses the journal of other data, whatever the data file was in use with', async () => {
    await using made = await journalDirectory();
    await using other = await journalDirectory();
    // Openings and frames of both have the same numbers.
    for (const each of [made, other]) await putRow(await each.open(), 'a', each.directory);
    const [own, foreign] = [made, other].map(({ directory }) => join(directory, 'journal'));
    assert.ok(own !== undefined && foreign !== undefined);
    const aside = join(made.directory, 'aside');
    await rename(own, aside);
    await cp(foreign, own, { recursive: true });
    const notOwn = damaged(/000001 does not belong to the data file/);
    await assert.rejects(made.open(), notOwn);
    await rm(own, { recursive: true });
    await rename(aside, own);
    const store = await made.open();
    assert.equal(await rowOf(store, 'a'), made.directory);
    // A journal that was given up leaves nothing to be expected.
    await store.close();
    await putRow(await other.open(), 'b');
    await cp(foreign, own, { recursive: true });
    await assert.rejects(made.open(), notOwn);
    assert.equal(await rowOf(await other.open(), 'b'), 'b');
  });

  it('takes no notice of what is left of a journal that was given up', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: fewFrames, files: failingFrom(4) });
    for (const name of ['a', 'b']) await putRow(store, name);
    // Its link is written before, and stays.
    await assert.rejects(putRow(store, 'c'), StoreWriteError);
    const first = await readFile(await fileIn(made.directory, '1'));
    await store.close();
    await mkdir(join(made.directory, 'journal', '1.old'), { recursive: true });
    await writeFile(await fileIn(made.directory, '1.old'), first);
    assert.equal(await rowOf(await made.open(), 'b'), 'b');
  });

  it('keeps the files that follow the last frame while they have none', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: fewFrames, files: failingFrom(4, 7) });
    for (const name of ['a', 'b']) await putRow(store, name);
    // Each has a file of its own, which a link names.
    for (const blocks of [10, 20]) {
      await assert.rejects(putRow(store, 'c', 'x'.repeat(blocks * blockBytes)), StoreWriteError);
    }
    await store.takeSnapshot();
    assert.equal(await rowOf(await made.open(), 'b'), 'b');
  });

  it('notices the missing last frame of an opening that another has followed', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    for (const name of ['a', 'b']) await putRow(store, name);
    await made.open();
    await corrupt(await fileIn(made.directory, '1.old'), 2 * blockBytes + 60);
    await assert.rejects(made.open(), damaged(/goes on with frame 3, and lacks frame 2/));
  });

  it('knows of a file until the data file knows of the next', async () => {
    await using made = await journalDirectory();
    const store = await made.open({ limits: { fileBytes: 5 * blockBytes } });
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 5; count += 1) await putRow(store, `${round} ${count}`);
      await store.takeSnapshot();
    }
    await putRow(store, 'a');
    const folder = join(made.directory, 'journal', '1');
    for (const name of await readdir(folder)) {
      const { size } = await stat(join(folder, name));
      assert.equal(size, 5 * blockBytes);
    }
    const next = await made.open();
    assert.deepEqual([await rowOf(next, 'a'), await rowOf(next, '2 4')], ['a', '2 4']);
  });

  it('refuses a journal that is a link or a file, and pipes in it', async () => {
    await using made = await journalDirectory();
    await (await made.open()).close();
    const folder = join(made.directory, 'journal');
    await mkdir(join(made.directory, 'elsewhere'));
    await symlink(join(made.directory, 'elsewhere'), folder);
    await assert.rejects(made.open(), damaged(/journal is a symbolic link, not a directory/));
    await unlink(folder);
    await writeFile(folder, '');
    await assert.rejects(made.open(), damaged(/journal is a regular file, not a directory/));
    await unlink(folder);
    await putRow(await made.open(), 'a');
    const file = await fileIn(made.directory, '2');
    await rm(file);
    await symlink('/dev/zero', file);
    await assert.rejects(made.open(), damaged(/000001 is a symbolic link, not a regular file/));
  });

  it('acknowledges nothing of a process that was replaced, which never appears', async () => {
    await using made = await journalDirectory();
    const zombie = await made.open();
    await putRow(zombie, 'before');
    const store = await made.open();
    await assert.rejects(putRow(zombie, 'late'), /moved, replaced or removed/);
    await putRow(store, 'after');
    // Neither its passes nor its end do harm.
    await assert.rejects(zombie.takeSnapshot());
    await zombie.close();
    const next = await made.open();
    const found = await Promise.all(['before', 'late', 'after'].map((name) => rowOf(next, name)));
    assert.deepEqual(found, ['before', undefined, 'after']);
    await next.close();
    assert.equal(await rowOf(made.memory, 'late'), undefined);
    await assert.rejects(putRow(zombie, 'later'));
  });

  it('cannot tell what becomes of a write during which a process is replaced', async () => {
    await using made = await journalDirectory();
    const { promise: isReplaced, resolve: letGo } = deferred();
    const { promise: hasBegun, resolve: tellBegun } = deferred();
    const slow = withWrites((write) => async (bytes, position) => {
      tellBegun();
      await isReplaced;
      await write(bytes, position);
    });
    const zombie = await made.open({ files: slow });
    const late = putRow(zombie, 'late');
    await hasBegun;
    const store = await made.open();
    letGo();
    await assert.rejects(late, CommitUnknownError);
    await putRow(store, 'after');
    const next = await made.open();
    assert.deepEqual([await rowOf(next, 'late'), await rowOf(next, 'after')], [undefined, 'after']);
  });

  it('brings nothing back from before a snapshot was restored', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    await putRow(store, 'kept');
    const snapshot = await store.takeSnapshot();
    await putRow(store, 'lost');
    await store.restoreSnapshot(snapshot);
    const last = await putRow(store, 'later');
    const next = await made.open();
    const found = await Promise.all(['kept', 'lost', 'later'].map((name) => rowOf(next, name)));
    assert.deepEqual(found, ['kept', undefined, 'later']);
    await next.restoreSnapshot();
    const empty = await made.open();
    assert.equal(await rowOf(empty, 'kept'), undefined);
    assert.ok((await putRow(empty, 'again')) > last);
  });

  it('takes no value for a frame that is the image of one', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    await putRow(store, 'a', 'first');
    const content = await readFile(await fileIn(made.directory, '1'));
    const image = content.subarray(blockBytes, 2 * blockBytes);
    // Blocks of the image stand where blocks of the file do.
    const value = Buffer.concat([Buffer.alloc(2 * blockBytes), image, image, image]);
    for (let shift = 0; shift < blockBytes; shift += 256) {
      const puts = [{ key: rowKey('image'), value: value.subarray(shift) }];
      await store.commit({ checks: [], puts, deletes: [] });
    }
    await putRow(store, 'a', 'last');
    assert.equal(await rowOf(await made.open(), 'a'), 'last');
  });
});
