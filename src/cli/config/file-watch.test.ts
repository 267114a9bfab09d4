import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { FileWatch, stateOf } from './file-watch.js';

let folder = '';
let file = '';
let changes = 0;
let tick: () => Promise<void>;
let watch: FileWatch;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-watch-'));
  file = join(folder, 'config.yaml');
  await writeFile(file, 'one');
  changes = 0;
  const timers = manualTimers();
  tick = async () => {
    timers.fire();
    // A look has ended when the timer of the next one is set.
    while (timers.waiting === 0) await pause(1);
  };
  watch = new FileWatch([file], { everyMs: 1, timers, changed: () => (changes += 1) });
  await tick();
  await tick();
  assert.equal(changes, 1, 'the first look');
});

afterEach(async () => {
  watch.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The number of changes reported by as many looks as a change needs. */
async function reported(): Promise<number> {
  const before = changes;
  for (let look = 0; look < 4; look++) await tick();
  return changes - before;
}

describe('watching files', () => {
  it('says nothing while nothing changes', async () => {
    assert.equal(await reported(), 0);
  });

  it('notices a file that is written in place, once', async () => {
    await writeFile(file, 'two');
    assert.equal(await reported(), 1);
  });

  it('notices a file that is replaced by another one of the same size', async () => {
    await writeFile(join(folder, 'next'), 'two');
    await rename(join(folder, 'next'), file);
    assert.equal(await reported(), 1);
  });

  it('notices a change behind a link that leads elsewhere', async () => {
    for (const [name, text] of [
      ['first', 'one'],
      ['second', 'two'],
    ] as const) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'config.yaml'), text);
    }
    await unlink(file);
    await symlink('first', join(folder, 'current'));
    await symlink('current/config.yaml', file);
    assert.equal(await reported(), 1);
    await symlink('second', join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'current'));
    assert.equal(await reported(), 1);
  });

  it('waits until a file stays as it is', async () => {
    for (const text of ['half', 'half of', 'half of it']) {
      await writeFile(file, text);
      await tick();
    }
    assert.equal(changes, 1);
    assert.equal(await reported(), 1);
  });

  it('notices that a file goes and comes', async () => {
    await unlink(file);
    assert.equal(await reported(), 1);
    await writeFile(file, 'one');
    assert.equal(await reported(), 1);
  });

  it('looks at other files when it is told to', async () => {
    const key = join(folder, 'key');
    const states = [await stateOf(file), await stateOf(key)];
    await writeFile(key, 'k');
    watch.watch(states);
    assert.equal(await reported(), 1, 'has changed since it was read');
    await writeFile(key, 'other');
    assert.equal(await reported(), 1);
  });

  it('says nothing of a change that somebody has read already', async () => {
    await writeFile(file, 'two');
    watch.watch([await stateOf(file)]);
    assert.equal(await reported(), 0);
    await writeFile(file, 'three');
    assert.equal(await reported(), 1);
  });
});
