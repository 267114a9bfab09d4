import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import type { ContentStore, DamagedExtent } from '../content-store.js';
import { ContentDamagedError } from '../errors.js';
import { put, readAll, readRange, sample, setUp } from './samples.js';
import type { ContentSuite } from './suite.js';

async function scrub(content: ContentStore): Promise<{
  readonly extents: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedExtent[];
}> {
  let extents = 0;
  let bytes = 0;
  const damaged: DamagedExtent[] = [];
  for await (const step of content.scrub()) {
    extents += step.extents;
    bytes += step.bytes;
    damaged.push(...step.damaged);
  }
  return { extents, bytes, damaged };
}

/** A scrub reads everything. */
export function scrubConformance(suite: ContentSuite): void {
  it('scrubs every extent and every byte, and finds nothing where nothing is wrong', async (t) => {
    const { content } = await setUp(suite, t);
    assert.deepEqual(await scrub(content), { extents: 0, bytes: 0, damaged: [] });
    for (let at = 0; at < 200; at += 1) await put(content, sample(at * 10, at));
    const large = await put(content, sample(20_000_000));
    await content.link(large, Buffer.from('link'));
    const { extents, bytes, damaged } = await scrub(content);
    assert.deepEqual({ extents, damaged }, { extents: 202, damaged: [] });
    assert.ok(bytes >= 199 * 1000 + 20_000_000);
  });
}

/** Stored bytes that have changed are never returned. */
export function damageConformance(suite: ContentSuite): void {
  it('hands out no byte of a block that has changed, and says where it is', async (t) => {
    const { content, damage } = await setUp(suite, t);
    assert.ok(damage !== undefined);
    const bytes = sample(1_000_000);
    for (const offset of [0, 65_535, 65_536, 300_000, 999_999]) {
      const id = await put(content, bytes);
      await damage(id, offset);
      const reader = await content.read(id, 0, bytes.length);
      let read = 0;
      await assert.rejects(
        async () => {
          for await (const piece of reader.pieces) {
            assert.ok(piece.equals(bytes.subarray(read, read + piece.length)));
            read += piece.length;
          }
        },
        (error) =>
          error instanceof ContentDamagedError &&
          error.extent === id &&
          error.offset <= offset &&
          offset - error.offset < 65_536,
      );
      assert.ok(read <= offset);
      reader.close();
      // Away from the damage it is still readable.
      const far = offset < 500_000 ? 800_000 : 100_000;
      assert.ok(
        (await readRange(content, id, far, far + 10)).equals(bytes.subarray(far, far + 10)),
      );
    }
  });

  it('hands out nothing of a small extent that has changed', async (t) => {
    const { content, damage } = await setUp(suite, t);
    assert.ok(damage !== undefined);
    const id = await put(content, sample(100));
    await damage(id, 50);
    await assert.rejects(readAll(content, id), ContentDamagedError);
    await assert.rejects(content.link(id, Buffer.from('copy')), ContentDamagedError);
  });

  it('names in a scrub each extent that has changed, with its owner', async (t) => {
    const { content, damage } = await setUp(suite, t);
    assert.ok(damage !== undefined);
    const expected: DamagedExtent[] = [];
    for (let at = 0; at < 12; at += 1) {
      const owner = Buffer.from(`owner ${at}`);
      const id = await put(content, sample(200_000, at), owner);
      if (at % 3 > 0) continue;
      await damage(id, 70_000 * (at % 2));
      const offset = at % 2 === 0 ? 0 : 65_536;
      expected.push({ id, owner, offset, problem: 'damaged' });
    }
    const { extents, damaged } = await scrub(content);
    assert.equal(extents, 12);
    const byId = (left: DamagedExtent, right: DamagedExtent) => (left.id < right.id ? -1 : 1);
    assert.deepEqual(damaged.toSorted(byId), expected.toSorted(byId));
  });
}
