import assert from 'node:assert/strict';
import { it } from 'node:test';
import { blocksMax } from '../../wire/xml/blob-block-list.js';
import { blockBytesFor, blockId, blocksOf } from './blocks.js';

const mebibyte = 1024 * 1024;

async function* chunks(...sizes: number[]): AsyncGenerator<Buffer> {
  let value = 0;
  for (const size of sizes) {
    yield Buffer.from(Array.from({ length: size }, () => value++ % 256));
  }
}

void it('cuts bytes into blocks of one size and a rest, whatever the chunks are', async () => {
  for (const sizes of [[], [0], [1], [4], [5], [3, 3, 3], [12], [1, 1, 1, 1, 0, 4, 9]]) {
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const found: Buffer[] = [];
    for await (const { index, bytes } of blocksOf(chunks(...sizes), 4)) {
      assert.equal(index, found.length);
      found.push(bytes);
    }
    assert.ok(found.slice(0, -1).every(({ length }) => length === 4));
    assert.ok(found.at(-1)?.length !== 0);
    assert.deepEqual(
      Array.from(Buffer.concat(found)),
      Array.from({ length: total }, (_, at) => at % 256),
    );
  }
});

void it('takes larger blocks for a file that would have too many, and refuses one beyond', () => {
  assert.equal(blockBytesFor(1), 4 * mebibyte);
  assert.equal(blockBytesFor(4 * mebibyte * blocksMax), 4 * mebibyte);
  assert.equal(blockBytesFor(4 * mebibyte * blocksMax + 1), 4 * mebibyte + 1);
  assert.throws(() => blockBytesFor(100 * mebibyte * blocksMax + 1), /not sent/);
});

void it('names blocks by their place and content, all in the same length', () => {
  const md5s = ['1B2M2Y8AsgTpgAmY7PhCfg==', 'CY9rzUYh03PK3k6DJie09g=='];
  const ids = [0, 1, 70_000].flatMap((index) => md5s.map((md5) => blockId(index, md5)));
  assert.equal(new Set(ids).size, 6);
  assert.ok(ids.every((id) => Buffer.from(id, 'base64').length === 48));
});
