import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CacheFilling } from './cache-filling.js';
import { cachedBytesBound, fillPageCache, piecesBackwards } from './page-cache.js';

const piece = 128 * 1024;

describe('filling the cache of the system', () => {
  for (const size of [1, piece, piece + 1, 10 * piece - 7, 64 * piece]) {
    it(`covers ${size} bytes once, backwards`, () => {
      const all = Array.from(piecesBackwards(size, Infinity));
      for (const [index, { start, end }] of all.entries()) {
        assert.ok(end - start > 0 && end - start <= piece);
        assert.equal(end, all[index - 1]?.start ?? size);
      }
      assert.equal(all.at(-1)?.start, 0);
    });
  }

  it('leaves out the beginning of a file that is too large', () => {
    const all = Array.from(piecesBackwards(100 * piece, 10 * piece));
    assert.equal(all.at(-1)?.start, 90 * piece);
    assert.equal(all[0]?.end, 100 * piece);
  });

  it('takes a half of the memory at most', () => {
    assert.equal(cachedBytesBound(1_000), 500);
    assert.equal(cachedBytesBound(2 ** 40), 2 ** 32);
  });

  it('reads all that it may', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-cache-'));
    t.after(() => rm(folder, { recursive: true }));
    const path = join(folder, 'file');
    await writeFile(path, Buffer.alloc(20 * piece + 5));
    assert.equal(fillPageCache(path, Infinity), 20 * piece + 5);
    assert.equal(fillPageCache(path, 7), 7);
  });

  it('tells that a file cannot be read, and ends', async () => {
    const data = { path: '/nowhere/data.mdb', bytesMax: 1_000 };
    // The thread keeps no process alive.
    const waiting = setInterval(() => undefined, 1_000);
    let filling: CacheFilling | undefined;
    const error = await new Promise((resolve) => (filling = new CacheFilling(data, resolve)));
    assert.match(String(error), /ENOENT/);
    await filling?.close();
    clearInterval(waiting);
  });
});
