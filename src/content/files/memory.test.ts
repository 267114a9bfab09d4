import assert from 'node:assert/strict';
import { it } from 'node:test';
import { temporaryContent } from '../../../test/support/content/temporary-content.js';
import { byLength, costly } from '../../../test/support/run-length.js';
import { sample } from '../conformance/samples.js';

const mebibyte = 1024 * 1024;
const bytes = byLength({ short: 256, long: 1024 }) * mebibyte;
/** Garbage of some hundred pieces may wait to be collected. */
const growthBytes = 96 * mebibyte;

function held(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it('takes no more memory for a long stream than for a short one', costly(), async (t) => {
  const { content, dispose } = await temporaryContent();
  t.after(dispose);
  const before = held();
  let most = 0;
  const piece = sample(128 * 1024);
  async function* source(): AsyncGenerator<Buffer, void, void> {
    for (let at = 0; at < bytes; at += piece.length) {
      most = Math.max(most, held());
      yield piece;
    }
  }
  const { id } = await content.put(source(), Buffer.from('owner'));
  const reader = await content.read(id, 0, bytes);
  let read = 0;
  for await (const found of reader.pieces) {
    most = Math.max(most, held());
    read += found.length;
  }
  assert.equal(read, bytes);
  assert.ok(most - before < growthBytes, `${Math.round((most - before) / mebibyte)} MiB`);
  t.diagnostic(`${Math.round((most - before) / mebibyte)} MiB more, for ${bytes / mebibyte} MiB`);
});
