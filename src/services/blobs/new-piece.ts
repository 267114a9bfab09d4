import { createHash, type Hash } from 'node:crypto';
import type { Bytes } from '../../base/bytes.js';
import { newId, type BlobContext } from './blob-context.js';
import type { Changes } from './changes.js';
import type { BlobKeys } from './keys.js';
import { inlinePieceBytesMax } from './limits.js';
import { withNewExtents, type NewExtents } from './new-extents.js';
import type { Piece } from './pieces.js';
import type { Body } from './types.js';

/** Bytes that were stored and to which no commit refers yet. */
export interface NewPiece {
  readonly bytes: number;
  /** Absent: no bytes. */
  readonly piece: Piece | undefined;
  /** The bytes themselves, when they become an entry of the commit. */
  readonly inline: Bytes | undefined;
}

/**
 * Stores a body, and passes it to `use`, whose commit refers to it (`putPiece`). When `use` fails
 * the bytes are freed as `withNewExtents` says. A body that fails leaves nothing.
 */
export async function withNewPiece<T>(
  context: BlobContext,
  { keys, body }: { readonly keys: BlobKeys; readonly body: Body },
  use: (piece: NewPiece) => Promise<T>,
): Promise<T> {
  return withNewExtents(context.content, async (extents) =>
    use(await takeIn(context, extents, keys, body)),
  );
}

/** Makes the commit store an inline piece. */
export function putPiece(keys: BlobKeys, changes: Changes, { piece, inline }: NewPiece): void {
  if (piece?.kind !== 'inline' || inline === undefined) return;
  changes.put(keys.inlinePiece(piece.id), inline);
}

async function takeIn(
  context: BlobContext,
  extents: NewExtents,
  keys: BlobKeys,
  body: Body,
): Promise<NewPiece> {
  const pieces = body[Symbol.asyncIterator]();
  const head: Buffer[] = [];
  let bytes = 0;
  while (bytes <= inlinePieceBytesMax) {
    const next = await pieces.next();
    if (next.done === true) return inlinePiece(context, Buffer.concat(head));
    // The buffer is only valid until the next one is requested.
    head.push(Buffer.from(next.value));
    bytes += next.value.length;
  }
  const extent = await extents.put(joined(head, pieces), keys.partition);
  return {
    bytes: extent.bytes,
    piece: { kind: 'extent', id: extent.id },
    inline: undefined,
  };
}

function inlinePiece(context: BlobContext, inline: Buffer): NewPiece {
  if (inline.length === 0) return { bytes: 0, piece: undefined, inline: undefined };
  return { bytes: inline.length, piece: { kind: 'inline', id: newId(context) }, inline };
}

async function* joined(
  head: Buffer[],
  rest: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer, void, void> {
  try {
    for (let piece = head.shift(); piece !== undefined; piece = head.shift()) yield piece;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** A body whose MD5 is computed while it is taken in; `md5` is known when it has ended. */
export interface HashedBody {
  readonly body: Body;
  readonly md5: () => Buffer;
}

export function hashed(body: Body): HashedBody {
  const hash = createHash('md5');
  let digest: Buffer | undefined;
  return { body: through(body, hash), md5: () => (digest ??= hash.digest()) };
}

async function* through(body: Body, hash: Hash): AsyncGenerator<Buffer, void, void> {
  for await (const piece of body) {
    hash.update(piece);
    yield piece;
  }
}
