import assert from 'node:assert/strict';
import { copyFile, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  pathOf,
  temporaryContent,
  type TemporaryContent,
} from '../../../test/support/content/temporary-content.js';
import { costly, sampled } from '../../../test/support/run-length.js';
import { manualClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { isThere, naming, owner, put, readAll, sample, sweep } from '../conformance/samples.js';
import type { ContentStore, DamagedExtent, ExtentId, ScrubStep } from '../content-store.js';
import { ContentDamagedError, ContentLocationError, ExtentMissingError } from '../errors.js';
import { contentFolder } from './content-directory.js';
import { openFileContent, scrubDirectory } from './content.js';

// Files that are not as they were written, by whatever hand.

interface SetUp extends TemporaryContent {
  readonly path: (id: ExtentId) => string;
}

async function setUp(t: TestContext): Promise<SetUp> {
  const opened = await temporaryContent();
  t.after(() => opened.dispose());
  return { ...opened, path: (id) => pathOf(join(opened.directory, contentFolder), id) };
}

function damagedIn(content: ContentStore): Promise<readonly DamagedExtent[]> {
  return damagedOf(content.scrub());
}

async function damagedOf(steps: AsyncIterable<ScrubStep>): Promise<readonly DamagedExtent[]> {
  const damaged: DamagedExtent[] = [];
  for await (const step of steps) damaged.push(...step.damaged);
  return damaged;
}

/** The bytes, or the error that says that they are damaged. */
async function readOrDamage(
  content: ContentStore,
  id: ExtentId,
): Promise<Buffer | ContentDamagedError> {
  try {
    return await readAll(content, id);
  } catch (error) {
    if (error instanceof ContentDamagedError) return error;
    throw error;
  }
}

describe('a file of an extent', () => {
  it('shows each bit that has changed, wherever it is', costly(), async (t) => {
    const { content, path } = await setUp(t);
    const bytes = sample(300);
    const id = await put(content, bytes);
    const whole = await readFile(path(id));
    for (const at of sampled([...whole.keys()], 100)) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      await writeFile(path(id), changed);
      const found = await readOrDamage(content, id);
      assert.ok(found instanceof ContentDamagedError || found.equals(bytes), String(at));
      const damaged = await damagedIn(content);
      assert.deepEqual(
        damaged.map((each) => each.id),
        [id],
        String(at),
      );
    }
    await writeFile(path(id), whole);
    assert.deepEqual(await damagedIn(content), []);
  });

  it('shows that it was cut, anywhere, and that something was appended', async (t) => {
    const { content, path } = await setUp(t);
    const id = await put(content, sample(200_000));
    const whole = await readFile(path(id));
    for (const length of [0, 1, 31, 40, 100, 65_600, 131_072, whole.length - 41]) {
      await truncate(path(id), length);
      await assert.rejects(readAll(content, id), ContentDamagedError);
      const known = length >= 40 ? owner : undefined;
      const expected = { id, owner: known, offset: 0, problem: 'truncated' as const };
      assert.deepEqual(await damagedIn(content), [expected]);
      await writeFile(path(id), whole);
    }
    await writeFile(path(id), Buffer.concat([whole, Buffer.from('x')]));
    await assert.rejects(readAll(content, id), ContentDamagedError);
  });

  it('is not taken for another one, nor one block for another', async (t) => {
    const { content, path } = await setUp(t);
    const [first, second] = [
      await put(content, sample(200_000, 1)),
      await put(content, sample(200_000, 2)),
    ];
    const [one, two] = [await readFile(path(first)), await readFile(path(second))];
    await writeFile(path(first), two);
    await assert.rejects(readAll(content, first), ContentDamagedError);
    const start = one.length - 40 - 4 * 4 - 200_000;
    const block = (at: number) => one.subarray(start + at * 65_536, start + (at + 1) * 65_536);
    const swapped = [one.subarray(0, start), block(1), block(0), one.subarray(start + 131_072)];
    await writeFile(path(first), Buffer.concat(swapped));
    await assert.rejects(readAll(content, first), ContentDamagedError);
    await writeFile(path(first), one);
    assert.ok((await readAll(content, first)).equals(sample(200_000, 1)));
  });

  it('of a link has lost its owner: the scrub says so, and the sweep keeps it', async (t) => {
    const { content, path, reopen } = await setUp(t);
    const from = await put(content, sample(100_000));
    const { id } = await content.link(from, owner);
    await rm(path(id).replace(/\.link$/, '.owner'));
    const again = await reopen('crashed');
    await sweep(again, naming(from));
    assert.ok(await isThere(again, id));
    assert.deepEqual(await damagedIn(again), [
      { id, owner: undefined, offset: 0, problem: 'damaged' },
    ]);
    await again.free([id]);
    assert.deepEqual(await damagedIn(again), []);
  });

  it('that was never finished is found after a crash, and swept', async (t) => {
    const { content, path, reopen, count } = await setUp(t);
    const ids = await Promise.all(
      [100, 200_000, 300_000].map((bytes) => put(content, sample(bytes))),
    );
    const [small = '', cut = '', kept = ''] = ids;
    await truncate(path(small), 0);
    await truncate(path(cut), 150_000);
    const again = await reopen('crashed');
    // Finds that the session has died, and asks nobody yet.
    const isReferenced = () => Promise.reject(new Error('busy'));
    await assert.rejects(again.sweepOrphans({ isReferenced, extentsMax: 10 }), /busy/);
    const damaged = await damagedIn(again);
    assert.deepEqual(new Set(damaged.map(({ problem }) => problem)), new Set(['unfinished']));
    await sweep(again, naming(kept));
    assert.equal(await count(), 1);
    assert.deepEqual(await damagedIn(again), []);
  });

  it('is kept by the sweep as long as it is named, whatever has become of it', async (t) => {
    const { content, path, reopen } = await setUp(t);
    const id = await put(content, sample(200_000));
    await truncate(path(id), 5000);
    const again = await reopen('crashed');
    await sweep(again, naming(id));
    await assert.rejects(readAll(again, id), ContentDamagedError);
    const damagedHead = await put(again, sample(200_000));
    await writeFile(path(damagedHead), Buffer.alloc(30), { flag: 'r+' });
    const third = await reopen('crashed');
    await sweep(third, naming(id));
    assert.ok((await readAll(third, damagedHead)).equals(sample(200_000)));
  });
});

describe('the folder of the content', () => {
  it('is scrubbed without a session, when no process uses it', async (t) => {
    const { content, directory, path, damage, reopen } = await setUp(t);
    const [ended, changed] = [await put(content, sample(100)), await put(content, sample(100))];
    await damage(changed, 50);
    const again = await reopen('closed');
    const unfinished = await put(again, sample(100));
    await again.abandon();
    for (const id of [ended, unfinished]) await truncate(path(id), 80);
    const found = await damagedOf(scrubDirectory(directory));
    assert.deepEqual(
      new Map(found.map(({ id, problem }) => [id, problem])),
      new Map([
        [ended, 'truncated'],
        [changed, 'damaged'],
        [unfinished, 'unfinished'],
      ]),
    );
    assert.deepEqual(await damagedOf(scrubDirectory(join(directory, 'nothing'))), []);
  });

  it('is refused when it is a link', async (t) => {
    const { content, directory } = await setUp(t);
    await content.close();
    await rename(join(directory, contentFolder), join(directory, 'elsewhere'));
    await symlink(join(directory, 'elsewhere'), join(directory, contentFolder));
    const options = { directory, clock: manualClock(), randomness: systemRandomness };
    await assert.rejects(openFileContent(options), ContentLocationError);
  });

  it('may hold foreign files, which nobody touches', async (t) => {
    const { content, directory, path, reopen } = await setUp(t);
    const id = await put(content, sample(10));
    const strangers = ['extents/notes', 'sessions/notes', 'sessions/0123.open'];
    for (const name of strangers) await writeFile(join(directory, contentFolder, name), 'mine');
    await copyFile(path(id), `${path(id)}.bak`);
    await writeFile(join(directory, contentFolder, 'sessions/0123456789abcdef.open'), '{"sock');
    const again = await reopen('crashed');
    await again.suspectAll();
    await sweep(again, naming());
    assert.deepEqual(await damagedIn(again), []);
    for (const name of strangers) {
      assert.equal(await readFile(join(directory, contentFolder, name), 'utf8'), 'mine');
    }
    await readFile(`${path(id)}.bak`);
    await assert.rejects(again.read(id, 0, 0), ExtentMissingError);
  });
});
