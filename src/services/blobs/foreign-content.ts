import { asBuffer } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { newId, type BlobContext } from './blob-context.js';
import type { CopiedContent } from './copied-content.js';
import { tooManyForeignRanges, type ForeignBlob, type ForeignSource } from './foreign-blob.js';
import type { BlobKeys } from './keys.js';
import {
  committedBlocksMax,
  copiedInlineBytesMax,
  foreignPageRangesMax,
  inlinePieceBytesMax,
  pageBlobBytesMax,
  pageRangeBytesMax,
} from './limits.js';
import { withNewExtents, type NewExtents } from './new-extents.js';
import { pageBytes } from './page-blobs.js';
import type { PageRange } from './page-range.js';
import type { Piece } from './pieces.js';
import type { Bounds } from './byte-run.js';
import type { Segment } from './segments.js';
import type { Body } from './types.js';

/** Bytes of one extent of content that was not made of blocks. */
const partBytesMax = 1024 * 1024 * 1024;

export interface ForeignContentOptions {
  readonly signal: AbortSignal;
  /** Called with each piece. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Stores the content of a foreign blob for one of this service, and passes it to `use`, whose
 * commit refers to it (`putCopied`). One piece is in memory at a time. When `use` or the source
 * fails the bytes are freed as `withNewExtents` says.
 */
export async function withForeignContent<T>(
  context: BlobContext,
  { keys, source }: { readonly keys: BlobKeys; readonly source: ForeignSource },
  options: ForeignContentOptions,
  use: (content: CopiedContent) => Promise<T>,
): Promise<T> {
  return withNewExtents(context.content, async (extents) => {
    const take = new ForeignTake(context, extents, { keys, source }, options);
    return use(await take.all());
  });
}

/** Refuses sources that cannot become blobs of this service. Throws `CannotVerifyCopySource`. */
export function checkForeign({ kind, bytes }: ForeignBlob): void {
  const isPageBlob = bytes % pageBytes === 0 && bytes <= pageBlobBytesMax;
  if (kind !== 'page' || isPageBlob) return;
  throw new StorageError('CannotVerifyCopySource', { status: 409 });
}

class ForeignTake {
  readonly #context: BlobContext;
  readonly #extents: NewExtents;
  readonly #keys: BlobKeys;
  readonly #source: ForeignSource;
  readonly #options: ForeignContentOptions;
  readonly #inline: { readonly piece: Piece; readonly bytes: Buffer }[] = [];
  #inlineBytes = 0;

  constructor(
    context: BlobContext,
    extents: NewExtents,
    { keys, source }: { readonly keys: BlobKeys; readonly source: ForeignSource },
    options: ForeignContentOptions,
  ) {
    this.#context = context;
    this.#extents = extents;
    this.#keys = keys;
    this.#source = source;
    this.#options = options;
  }

  async all(): Promise<CopiedContent> {
    const { kind, bytes } = this.#source.blob;
    const [segments, ranges] =
      kind === 'page' ? [[], await this.#pages()] : [await this.#parts(), []];
    const pieces = { inline: this.#inline, references: new Map() };
    return { kind, bytes, segments, ranges, staged: undefined, ...pieces };
  }

  async #parts(): Promise<Segment[]> {
    const { signal } = this.#options;
    const { kind, bytes } = this.#source.blob;
    const blocks = kind === 'block' ? await this.#source.blocks(signal) : [];
    const sum = blocks.reduce((total, block) => total + block.bytes, 0);
    const isWhole = sum === bytes && blocks.length <= committedBlocksMax;
    const parts: Iterable<Pick<Segment, 'blockId' | 'bytes'>> = isWhole
      ? blocks.map(({ id: blockId, bytes: length }) => ({ blockId, bytes: length }))
      : partsOf(bytes);
    const cut = new CutBody(this.#body({ start: 0, end: bytes }));
    const segments: Segment[] = [];
    try {
      for (const { blockId, bytes: length } of parts) {
        // A block may be empty; a segment is not.
        if (length === 0) continue;
        const piece = await this.#piece(cut.next(length), length);
        segments.push({ blockId, bytes: length, piece });
      }
      await cut.checkEnd();
    } finally {
      await cut.letGo();
    }
    return segments;
  }

  async #pages(): Promise<PageRange[]> {
    const { signal } = this.#options;
    const ranges: PageRange[] = [];
    for (const { start, end } of await this.#source.pages(signal)) {
      const cut = new CutBody(this.#body({ start, end }));
      try {
        for (let offset = start; offset < end; offset += pageRangeBytesMax) {
          if (ranges.length >= foreignPageRangesMax) throw tooManyForeignRanges();
          const bytes = Math.min(pageRangeBytesMax, end - offset);
          const piece = await this.#piece(cut.next(bytes), bytes);
          const generations = { writtenIn: 1, from: 1, until: undefined };
          ranges.push({ offset, bytes, piece, pieceStart: 0, ...generations });
        }
        await cut.checkEnd();
      } finally {
        await cut.letGo();
      }
    }
    return ranges;
  }

  async *#body(bounds: Bounds): AsyncGenerator<Buffer, void, void> {
    const { signal, onBytes } = this.#options;
    for await (const piece of this.#source.read(bounds, signal)) {
      onBytes(piece.length);
      yield piece;
    }
  }

  async #piece(body: Body, bytes: number): Promise<Piece> {
    const isSmall = bytes <= inlinePieceBytesMax;
    if (isSmall && this.#inlineBytes + bytes <= copiedInlineBytesMax) {
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(Buffer.from(piece));
      const inline: Piece = { kind: 'inline', id: newId(this.#context) };
      this.#inlineBytes += bytes;
      this.#inline.push({ piece: inline, bytes: Buffer.concat(pieces) });
      return inline;
    }
    const { id } = await this.#extents.put(body, this.#keys.partition);
    return { kind: 'extent', id };
  }
}

function* partsOf(bytes: number): Generator<Pick<Segment, 'blockId' | 'bytes'>> {
  for (let at = 0; at < bytes; at += partBytesMax) {
    yield { blockId: undefined, bytes: Math.min(partBytesMax, bytes - at) };
  }
}

/** Splits a body into consecutive ones. */
class CutBody {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = asBuffer(new Uint8Array(0));

  constructor(body: Body) {
    this.#pieces = body[Symbol.asyncIterator]();
  }

  /** The next `bytes` bytes. The caller iterates them to the end before it asks for more. */
  async *next(bytes: number): AsyncGenerator<Buffer, void, void> {
    for (let left = bytes; left > 0;) {
      if (this.#rest.length === 0) {
        const next = await this.#pieces.next();
        invariant(next.done !== true, 'a source has as many bytes as it says');
        this.#rest = next.value;
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  /** Reads to the end of the body, because checksums are only verified there. */
  async checkEnd(): Promise<void> {
    const isOver = this.#rest.length === 0 && (await this.#pieces.next()).done === true;
    invariant(isOver, 'a source has no more bytes than it says');
  }

  /** Idempotent. */
  async letGo(): Promise<void> {
    await this.#pieces.return?.();
  }
}
