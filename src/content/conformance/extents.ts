import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import { InvariantError } from '../../base/invariant.js';
import {
  contentPieceBytesMax,
  extentIdLengthMax,
  ownerBytesMax,
  type ScrubStep,
} from '../content-store.js';
import { ContentClosedError, ContentWriteError, ExtentMissingError } from '../errors.js';
import {
  isThere,
  owner,
  piecesIn,
  piecesOf,
  put,
  readAll,
  readRange,
  sample,
  setUp,
} from './samples.js';
import type { ContentSuite } from './suite.js';

const lengths = [0, 1, 4095, 65_535, 65_536, 65_537, 262_144, 262_145, 1_000_000];

/** Extents are stored whole or not at all, and read as they were stored. */
export function extentsConformance(suite: ContentSuite): void {
  it('reads what was stored, whatever the length and the pieces', async (t) => {
    const { content } = await setUp(suite, t);
    for (const length of lengths) {
      const bytes = sample(length, length + 1);
      for (const pieceBytes of [1000, 65_536, 131_072, 5_000_000]) {
        const extent = await content.put(piecesOf(bytes, pieceBytes), owner);
        assert.equal(extent.bytes, length);
        assert.ok((await readAll(content, extent.id)).equals(bytes), `${length} by ${pieceBytes}`);
      }
    }
  });

  it('takes pieces of one byte, and empty ones', async (t) => {
    const { content } = await setUp(suite, t);
    const bytes = sample(3000);
    async function* source(): AsyncGenerator<Buffer, void, void> {
      for (const byte of bytes) yield* [Buffer.of(byte), Buffer.alloc(0)];
    }
    const { id } = await content.put(source(), owner);
    assert.ok((await readAll(content, id)).equals(bytes));
  });

  it('reads any range, in pieces that are not too long and stay while they are used', async (t) => {
    const { content } = await setUp(suite, t);
    const bytes = sample(1_000_000);
    const id = await put(content, bytes);
    const ends = [0, 1, 65_535, 65_536, 65_537, 262_144, 300_000, 999_999, 1_000_000];
    for (const start of ends) {
      for (const end of ends.filter((each) => each >= start)) {
        const pieces = await piecesIn(await content.read(id, start, end));
        assert.ok(pieces.every(({ length }) => length > 0 && length <= contentPieceBytesMax));
        const found = Buffer.concat(pieces);
        assert.ok(found.equals(bytes.subarray(start, end)), `${start} to ${end}`);
      }
    }
  });

  it('gives each extent an id of its own that is short and fit for a file name', async (t) => {
    const { content } = await setUp(suite, t);
    const ids = new Set<string>();
    for (let at = 0; at < 20; at += 1) ids.add(await put(content, sample(10)));
    await content.free(Array.from(ids).slice(10));
    for (let at = 0; at < 20; at += 1) ids.add(await put(content, sample(10)));
    assert.equal(ids.size, 40);
    for (const id of ids) assert.match(id, new RegExp(`^[\\w.-]{1,${extentIdLengthMax}}$`));
  });

  it('stores many extents at once', async (t) => {
    const { content } = await setUp(suite, t);
    const all = Array.from({ length: 40 }, (_, at) => sample(at * 7001, at));
    const ids = await Promise.all(all.map((bytes) => put(content, bytes)));
    const found = await Promise.all(ids.map((id) => readAll(content, id)));
    found.forEach((bytes, at) => assert.ok(bytes.equals(all[at] ?? Buffer.alloc(0))));
  });

  it('leaves nothing of a source that fails, and rejects with what it throws', async (t) => {
    const { content, count } = await setUp(suite, t);
    const failure = new Error('the client has left');
    for (const length of [0, 10, 500_000]) {
      async function* source(): AsyncGenerator<Buffer, void, void> {
        yield* piecesOf(sample(length));
        throw failure;
      }
      await assert.rejects(content.put(source(), owner), (error) => error === failure);
    }
    assert.equal(await count(), 0);
  });

  it('takes owners up to their limit and refuses longer ones', async (t) => {
    const { content, count } = await setUp(suite, t);
    await put(content, sample(1), Buffer.alloc(ownerBytesMax, 7));
    await put(content, sample(1), Buffer.alloc(0));
    const long = Buffer.alloc(ownerBytesMax + 1);
    await assert.rejects(put(content, sample(1), long), InvariantError);
    assert.equal(await count(), 2);
  });

  it('refuses ranges that are not within the extent', async (t) => {
    const { content } = await setUp(suite, t);
    const id = await put(content, sample(10));
    for (const [start, end] of [
      [0, 11],
      [-1, 5],
      [6, 5],
      [0.5, 3],
    ] as const) {
      await assert.rejects(content.read(id, start, end), InvariantError);
    }
  });

  it('has no extent that was freed, or that never was', async (t) => {
    const { content, count } = await setUp(suite, t);
    const [kept, freed] = [await put(content, sample(10)), await put(content, sample(20))];
    await content.free([freed]);
    await content.free([freed, 'never-1', '../../etc/passwd', '']);
    await content.free([]);
    for (const id of [freed, 'never-1', '../../etc/passwd', '']) {
      await assert.rejects(content.read(id, 0, 0), ExtentMissingError);
      await assert.rejects(content.link(id, owner), ExtentMissingError);
    }
    assert.ok(await isThere(content, kept));
    assert.equal(await count(), 1);
  });

  it('goes on reading an extent that is freed meanwhile', async (t) => {
    const { content } = await setUp(suite, t);
    const bytes = sample(2_000_000);
    const id = await put(content, bytes);
    const reader = await content.read(id, 0, bytes.length);
    await content.free([id]);
    assert.ok(Buffer.concat(await piecesIn(reader)).equals(bytes));
  });

  it('ends a reader that is closed, at any time and twice', async (t) => {
    const { content } = await setUp(suite, t);
    const bytes = sample(2_000_000);
    const id = await put(content, bytes);
    const unused = await content.read(id, 0, bytes.length);
    unused.close();
    unused.close();
    assert.deepEqual(await piecesIn(unused), []);
    const reader = await content.read(id, 0, bytes.length);
    let pieces = 0;
    for await (const _ of reader.pieces) {
      pieces += 1;
      reader.close();
    }
    assert.equal(pieces, 1);
    for await (const _ of (await content.read(id, 0, bytes.length)).pieces) break;
  });

  it('asks a source for one piece at a time, and ends it when there is no room', async (t) => {
    const { content, leaveRoom, count } = await setUp(suite, t);
    const kept = await put(content, sample(50_000));
    leaveRoom(1_000_000);
    let isEnded = false;
    let asked = 0;
    async function* source(): AsyncGenerator<Buffer, void, void> {
      try {
        // A wrong store must not ask for ever.
        while (asked < 50) {
          asked += 1;
          yield sample(100_000);
        }
      } finally {
        isEnded = true;
      }
    }
    await assert.rejects(content.put(source(), owner), (error) => {
      return error instanceof ContentWriteError && error.isFull;
    });
    assert.ok(isEnded && asked < 20, String(asked));
    assert.equal(await count(), 1);
    assert.ok((await readAll(content, kept)).equals(sample(50_000)));
    leaveRoom(Infinity);
    assert.ok(await isThere(content, await put(content, sample(100_000))));
  });

  it('refuses every call after it was closed, and may be closed twice', async (t) => {
    const { content } = await setUp(suite, t);
    const id = await put(content, sample(10));
    await content.close();
    await content.close();
    const calls = [
      () => content.put(piecesOf(sample(1)), owner),
      () => content.read(id, 0, 1),
      () => content.free([id]),
      () => content.link(id, owner),
      () => content.suspectAll(),
      () => content.sweepOrphans({ isReferenced: () => Promise.resolve(new Set()), extentsMax: 1 }),
      () => stepsOf(content.scrub()),
    ];
    for (const call of calls) await assert.rejects(call(), ContentClosedError);
  });

  it('waits for what is under way when it is closed', async (t) => {
    const { content, reopen } = await setUp(suite, t);
    const bytes = sample(500_000);
    const putting = content.put(piecesOf(bytes), owner);
    const closing = content.close();
    const { id } = await putting;
    content.confirm([id]);
    await closing;
    if (reopen === undefined) return;
    assert.ok((await readAll(await reopen('closed'), id)).equals(bytes));
  });
}

/** Another extent with the same bytes. */
export function linksConformance(suite: ContentSuite): void {
  it('links an extent of any length, and frees each of the two by itself', async (t) => {
    const { content, count } = await setUp(suite, t);
    for (const length of [0, 10, 70_000, 1_000_000]) {
      const bytes = sample(length);
      const first = await put(content, bytes);
      const second = await content.link(first, Buffer.from('other'));
      const third = await content.link(second.id, owner);
      assert.equal(second.bytes, length);
      assert.equal(new Set([first, second.id, third.id]).size, 3);
      await content.free([first]);
      assert.ok(!(await isThere(content, first)));
      assert.ok((await readAll(content, second.id)).equals(bytes));
      await content.free([second.id]);
      const middle = Math.floor(length / 2);
      const found = await readRange(content, third.id, middle, length);
      assert.ok(found.equals(bytes.subarray(middle)));
      await content.free([third.id]);
      assert.equal(await count(), 0);
    }
  });
}

async function stepsOf(steps: AsyncIterable<ScrubStep>): Promise<ScrubStep[]> {
  const found: ScrubStep[] = [];
  for await (const step of steps) found.push(step);
  return found;
}
