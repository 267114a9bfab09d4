import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  cachedBytesBound,
  CacheFilling,
  fillPageCache,
  lanesOf,
  piecesBackwards,
} from './page-cache.js';

const piece = 128 * 1024;

function piecesOf(size: number, bytesMax: number, lanes: number) {
  return lanesOf(size, bytesMax, lanes).map((part) => Array.from(piecesBackwards(part)));
}

async function temporaryFile(bytes: number) {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-cache-'));
  const path = join(folder, 'file');
  await writeFile(path, Buffer.alloc(bytes));
  return { path, remove: () => rm(folder, { recursive: true }) };
}

describe('filling the cache of the system', () => {
  for (const size of [1, piece, piece + 1, 10 * piece - 7, 64 * piece]) {
    for (const lanes of [1, 2, 4]) {
      it(`covers ${size} bytes once, backwards in each of ${lanes} lanes`, () => {
        const found = piecesOf(size, Infinity, lanes);
        for (const lane of found) {
          for (const [index, { start, end }] of lane.entries()) {
            assert.ok(end - start > 0 && end - start <= piece);
            assert.equal(end, lane[index - 1]?.start ?? end);
          }
        }
        const all = found.flat().toSorted((left, right) => left.start - right.start);
        assert.equal(all[0]?.start, 0);
        assert.equal(all.at(-1)?.end, size);
        for (const [index, { end }] of all.entries()) {
          assert.equal(all[index + 1]?.start ?? size, end);
        }
      });
    }
  }

  it('leaves out the beginning of a file that is too large', () => {
    const all = piecesOf(100 * piece, 10 * piece, 4).flat();
    assert.equal(Math.min(...all.map(({ start }) => start)), 90 * piece);
    assert.equal(Math.max(...all.map(({ end }) => end)), 100 * piece);
  });

  it('takes a half of the memory at most', () => {
    assert.equal(cachedBytesBound(1_000), 500);
    assert.equal(cachedBytesBound(2 ** 40), 2 ** 32);
  });

  it('reads no piece after it was stopped', async (t) => {
    const { path, remove } = await temporaryFile(20 * piece);
    t.after(remove);
    let asked = 0;
    const isStopped = () => {
      asked += 1;
      return asked > 3;
    };
    await fillPageCache(path, { bytesMax: Infinity, lanes: 1, isStopped });
    assert.equal(asked, 4);
    asked = -100;
    await fillPageCache(path, { bytesMax: Infinity, lanes: 1, isStopped });
    assert.equal(asked, -80);
  });

  it('tells that a file cannot be read, and ends', async () => {
    const told: unknown[] = [];
    const filling = new CacheFilling('/nowhere/data.mdb', 1_000, (error) => told.push(error));
    await filling.close();
    assert.equal(told.length, 1);
  });
});
