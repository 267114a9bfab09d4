import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { writeNewFile, type Resumable } from './new-file.js';
import { costly } from '../../../test/support/run-length.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tabularium-file-'));
});

afterEach(() => rm(directory, { recursive: true }));

async function* failing(): AsyncGenerator<Buffer> {
  yield Buffer.from('half');
  throw new Error('the source ended');
}

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

void describe('a new file', () => {
  void it('replaces what a name or a link leads to', async () => {
    const path = join(directory, 'file');
    await symlink(path, join(directory, 'link'));
    await writeNewFile(path, () => chunks('one'));
    await writeNewFile(join(directory, 'link'), () => chunks('two', ' and ', 'three'));
    assert.equal(await readFile(path, 'utf8'), 'two and three');
    assert.deepEqual((await readdir(directory)).toSorted(), ['file', 'link']);
  });

  void it('leaves what was there when its bytes fail', async () => {
    const path = join(directory, 'file');
    await writeFile(path, 'before');
    await assert.rejects(writeNewFile(path, failing), /the source ended/);
    assert.equal(await readFile(path, 'utf8'), 'before');
    assert.deepEqual(await readdir(directory), ['file']);
  });

  void it('keeps what its source wants to keep, and goes on with it', async () => {
    const path = join(directory, 'file');
    const places: string[] = [];
    const begun: string[] = [];
    const half = async function* (file: Resumable): AsyncGenerator<Buffer> {
      const { bytes, chunks: kept } = await file.resume('1a');
      begun.push(`${bytes} ${await text(kept)}`);
      yield* failing();
    };
    for (let count = 0; count < 2; count += 1) {
      await assert.rejects(
        writeNewFile(path, half, (place) => places.push(place)),
        /the source ended/,
      );
      assert.deepEqual(await readdir(directory), ['file.1a.part']);
    }
    assert.deepEqual(begun, ['0 ', '4 half']);
    assert.deepEqual(places, [`${path}.1a.part`, `${path}.1a.part`]);
    await writeNewFile(path, async function* (file) {
      await file.resume('2b');
      yield Buffer.from('of another state');
    });
    assert.equal(await readFile(path, 'utf8'), 'of another state');
    await writeNewFile(path, async function* (file) {
      await file.resume('1a');
      yield Buffer.from(' and all');
    });
    assert.equal(await readFile(path, 'utf8'), 'halfhalf and all');
    assert.deepEqual(await readdir(directory), ['file']);
  });

  void it('keeps nothing that its source calls useless', async () => {
    const forgetting = async function* (file: Resumable): AsyncGenerator<Buffer> {
      await file.resume('1a');
      file.forget();
      yield* failing();
    };
    await assert.rejects(writeNewFile(join(directory, 'file'), forgetting), /the source ended/);
    assert.deepEqual(await readdir(directory), []);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    void it(
      `leaves nothing, or what is kept, when ${signal} ends the process`,
      costly(),
      async () => {
        const module = fileURLToPath(new URL('./new-file.js', import.meta.url));
        const program = `
        import { writeNewFile } from ${JSON.stringify(module)};
        async function* chunks(file) {
          if (process.argv[1] === 'keep') await file.resume('1a');
          yield Buffer.from('half');
          console.log('begun');
          await new Promise((resolve) => setTimeout(resolve, 600_000));
        }
        await writeNewFile('file', chunks);`;
        for (const [word, left] of [
          ['drop', []],
          ['keep', ['file.1a.part']],
        ] as const) {
          const child = spawn(process.execPath, ['--input-type=module', '-e', program, word], {
            cwd: directory,
            stdio: ['ignore', 'pipe', 'inherit'],
          });
          const ended = once(child, 'exit');
          await once(child.stdout, 'data');
          assert.equal((await readdir(directory)).length, 1);
          child.kill(signal);
          assert.deepEqual(await ended, [null, signal]);
          assert.deepEqual(await readdir(directory), left);
        }
      },
    );
  }
});
