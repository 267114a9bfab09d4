import { nameOfBytes } from '../../base/bytes.js';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { CommitUnknownError } from '../../kv/errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { newId, type BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { Changes } from './changes.js';
import { ContentGoneError, putContent, segmentsFrom } from './contents.js';
import type { BlobKeys } from './keys.js';
import { copiedInlineBytesMax, copiedPageRangesMax } from './limits.js';
import { pageViewOf, rangesSeen } from './page-map.js';
import { encodePageRange, pageRangeKey, type PageRange } from './page-range.js';
import type { Piece } from './pieces.js';
import type { Content, Segment } from './segments.js';

/** The content of a blob for another one, whose commit names it (`putCopied`). */
export interface CopiedContent {
  readonly kind: BlobRecord['kind'];
  readonly bytes: number;
  /** Of block and append blobs. */
  readonly segments: readonly Segment[];
  /** Of page blobs. */
  readonly ranges: readonly PageRange[];
  /** The entries of inline pieces. */
  readonly inline: readonly { readonly piece: Piece; readonly bytes: Bytes }[];
  /** How often each piece is named. */
  readonly names: ReadonlyMap<string, { readonly piece: Piece; readonly count: number }>;
}

/**
 * Makes the content of a record one of another blob, and hands it to `use`. Extents are linked, so
 * their bytes are not stored again where that is possible. When `use` fails they are freed, unless
 * the commit may have been made. Throws `ContentGoneError` when the content was freed meanwhile.
 */
export async function withCopiedContent<T>(
  context: BlobContext,
  {
    from,
    to,
    record,
  }: { readonly from: BlobKeys; readonly to: BlobKeys; readonly record: BlobRecord },
  use: (copied: CopiedContent) => Promise<T>,
): Promise<T> {
  const copy = new ContentCopy(context, from, to);
  try {
    return await use(await copy.of(record));
  } catch (error) {
    if (!(error instanceof CommitUnknownError)) await context.content.free(copy.extents);
    throw error;
  }
}

/** Copies pieces, each once. */
class ContentCopy {
  readonly extents: string[] = [];
  readonly #context: BlobContext;
  readonly #from: BlobKeys;
  readonly #to: BlobKeys;
  readonly #inline: { readonly piece: Piece; readonly bytes: Bytes }[] = [];
  readonly #names = new Map<string, { readonly piece: Piece; count: number }>();
  #inlineBytes = 0;

  constructor(context: BlobContext, from: BlobKeys, to: BlobKeys) {
    this.#context = context;
    this.#from = from;
    this.#to = to;
  }

  async of(record: BlobRecord): Promise<CopiedContent> {
    const { kind, bytes } = record;
    const segments: Segment[] = [];
    const ranges: PageRange[] = [];
    const { store } = this.#context;
    if (kind === 'page') {
      // All of them first: the blob may be written at any time (`isSameMap` of the caller).
      for await (const range of rangesSeen(store, this.#from, pageViewOf(record), {
        start: 0,
        end: bytes,
      })) {
        if (ranges.length >= copiedPageRangesMax) throw new StorageError('InvalidOperation');
        ranges.push(range);
      }
      for (const [index, range] of ranges.entries()) {
        ranges[index] = { ...range, ...anew, piece: await this.#pieceOf(range.piece) };
      }
    } else {
      for await (const { blockId, bytes: length, piece } of segmentsFrom(
        store,
        this.#from,
        record,
        0,
      )) {
        segments.push({ blockId, bytes: length, piece: await this.#pieceOf(piece) });
      }
    }
    return { kind, bytes, segments, ranges, inline: this.#inline, names: this.#names };
  }

  async #pieceOf(piece: Piece): Promise<Piece> {
    const name = piece.kind === 'extent' ? piece.id : `\0${nameOfBytes(piece.id)}`;
    const known = this.#names.get(name);
    if (known !== undefined) {
      known.count += 1;
      return known.piece;
    }
    const copied = await this.#copy(piece);
    this.#names.set(name, { piece: copied, count: 1 });
    return copied;
  }

  async #copy(piece: Piece): Promise<Piece> {
    const { store, content } = this.#context;
    const { partition } = this.#to;
    if (piece.kind === 'extent') {
      const { id } = await content.link(piece.id, partition);
      this.extents.push(id);
      return { kind: 'extent', id };
    }
    const entry = await store.get(this.#from.inlinePiece(piece.id));
    if (entry === undefined) throw new ContentGoneError();
    const bytes = Buffer.from(entry.value);
    this.#inlineBytes += bytes.length;
    if (this.#inlineBytes > copiedInlineBytesMax) {
      const { id } = await content.put(inOnePiece(bytes), partition);
      this.extents.push(id);
      return { kind: 'extent', id };
    }
    const copied: Piece = { kind: 'inline', id: newId(this.#context) };
    this.#inline.push({ piece: copied, bytes });
    return copied;
  }
}

/** A page map of its own begins with its first generation. */
const anew = { writtenIn: 1, from: 1, until: undefined } as const;

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  yield bytes;
}

/** Lets the commit store what was copied. Returns the content; undefined without any bytes. */
export async function putCopied(
  context: Pick<BlobContext, 'clock' | 'randomness'>,
  keys: BlobKeys,
  changes: Changes,
  { kind, segments, ranges, inline, names }: CopiedContent,
): Promise<Content | undefined> {
  for (const { piece, bytes } of inline) {
    invariant(piece.kind === 'inline', 'an inline piece is inline');
    changes.put(keys.inlinePiece(piece.id), bytes);
  }
  for (const { piece, count } of names.values()) {
    if (count > 1) changes.add(keys.pieceNames(piece), count - 1);
  }
  if (kind !== 'page') return putContent(context, keys, changes, segments);
  const id = newId(context);
  for (const range of ranges) changes.put(pageRangeKey(keys, id, range), encodePageRange(range));
  return { id, isChunked: false, tail: [] };
}
