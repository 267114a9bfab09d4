import { nextTurn } from '../../base/async/turns.js';
import type { TestScope } from '../../base/conformance/suite-test.js';
import type {
  ContentStore,
  ExtentId,
  ExtentReader,
  IsReferenced,
  SweepStep,
} from '../content-store.js';
import type { ContentSuite, OpenedContent } from './suite.js';

export const owner = Buffer.from('owner');

export async function setUp(suite: ContentSuite, scope: TestScope): Promise<OpenedContent> {
  const opened = await suite.open();
  scope.after(() => opened.dispose());
  return opened;
}

/** Bytes that are different at each place and for each seed. */
export function sample(bytes: number, seed = 1): Buffer {
  const made = Buffer.allocUnsafe(bytes);
  let state = seed >>> 0;
  for (let at = 0; at < bytes; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    made[at] = state >>> 24;
  }
  return made;
}

/**
 * The bytes in pieces. Each piece is overwritten before the next one, as a source may do.
 */
export async function* piecesOf(
  bytes: Buffer,
  pieceBytes = 100_000,
): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = Buffer.from(bytes.subarray(at, at + pieceBytes));
    yield piece;
    piece.fill(0xee);
  }
}

/** Stores an extent that a commit names. */
export async function put(content: ContentStore, bytes: Buffer, of = owner): Promise<ExtentId> {
  const id = await putWaiting(content, bytes, of);
  content.confirm([id]);
  return id;
}

/** Links an extent, and a commit names the new one. */
export async function link(content: ContentStore, from: ExtentId, of = owner): Promise<ExtentId> {
  const { id } = await content.link(from, of);
  content.confirm([id]);
  return id;
}

/** Stores an extent that waits for its commit. */
export async function putWaiting(
  content: ContentStore,
  bytes: Buffer,
  of = owner,
): Promise<ExtentId> {
  return (await content.put(piecesOf(bytes), of)).id;
}

export async function readAll(content: ContentStore, id: ExtentId): Promise<Buffer> {
  const { bytes, close } = await opened(content, id);
  close();
  return readRange(content, id, 0, bytes);
}

export async function readRange(
  content: ContentStore,
  id: ExtentId,
  start: number,
  end: number,
): Promise<Buffer> {
  const reader = await content.read(id, start, end);
  return Buffer.concat(await piecesIn(reader));
}

/** The pieces as they are when there was time to change them. Closes the reader. */
export async function piecesIn(reader: ExtentReader): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of reader.pieces) {
      await nextTurn();
      pieces.push(Buffer.from(piece));
    }
    return pieces;
  } finally {
    reader.close();
  }
}

async function opened(content: ContentStore, id: ExtentId) {
  const reader = await content.read(id, 0, 0);
  return { bytes: reader.bytes, close: () => reader.close() };
}

/** Sweeps until nothing is left to look at. */
export async function sweep(
  content: ContentStore,
  isReferenced: IsReferenced,
  extentsMax = 1000,
): Promise<SweepStep> {
  let looked = 0;
  let deleted = 0;
  for (;;) {
    const step = await content.sweepOrphans({ isReferenced, extentsMax });
    looked += step.looked;
    deleted += step.deleted;
    if (!step.more) return { looked, deleted, more: false };
  }
}

/** A key space that names these extents. */
export function naming(...named: readonly ExtentId[]): IsReferenced {
  return (_owner, ids) => Promise.resolve(new Set(ids.filter((id) => named.includes(id))));
}

export async function isThere(content: ContentStore, id: ExtentId): Promise<boolean> {
  try {
    (await content.read(id, 0, 0)).close();
    return true;
  } catch {
    return false;
  }
}
