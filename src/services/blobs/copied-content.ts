import { nameOfBytes } from '../../base/bytes.js';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { newId, type BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { Changes } from './changes.js';
import { ContentGoneError, putContent, segmentsFrom } from './contents.js';
import type { BlobKeys } from './keys.js';
import { copiedInlineBytesMax, copiedRangesPerCommitMax } from './limits.js';
import { withNewExtents, type NewExtents } from './new-extents.js';
import { pageViewOf, rangesSeen } from './page-map.js';
import { encodePageRange, pageRangeKey, type PageRange } from './page-range.js';
import type { Piece } from './pieces.js';
import type { Content, Segment } from './segments.js';
import { StagedMap } from './staged-map.js';

/** Pieces to which a commit will refer. */
interface CopiedPieces {
  /** The entries of inline pieces. */
  readonly inline: readonly { readonly piece: Piece; readonly bytes: Bytes }[];
  /** The number of references to each piece. */
  readonly references: ReadonlyMap<string, { readonly piece: Piece; readonly count: number }>;
}

/** The content of a blob, copied for another one whose commit refers to it (`putCopied`). */
export interface CopiedContent extends CopiedPieces {
  readonly kind: BlobRecord['kind'];
  readonly bytes: number;
  /** Segments of block and append blobs. */
  readonly segments: readonly Segment[];
  /** Ranges of page blobs that are not staged. */
  readonly ranges: readonly PageRange[];
  /** The first ranges of a page blob with many. */
  readonly staged: StagedMap | undefined;
}

/**
 * Makes the content of a record one of another blob, and hands it to `use`. Extents are linked, so
 * their bytes are not stored again where that is possible. When `use` fails they are freed as
 * `withNewExtents` says. Throws `ContentGoneError` when the content was freed meanwhile.
 */
export async function withCopiedContent<T>(
  context: BlobContext,
  {
    from,
    to,
    record,
    onPiece = () => undefined,
  }: {
    readonly from: BlobKeys;
    readonly to: BlobKeys;
    readonly record: BlobRecord;
    /** Called when a piece was copied. */
    readonly onPiece?: (() => void) | undefined;
  },
  use: (copied: CopiedContent) => Promise<T>,
): Promise<T> {
  return withNewExtents(context.content, async (extents) => {
    const copy = new ContentCopy(context, extents, { from, to, onPiece });
    return use(await copy.of(record));
  });
}

/** Copies pieces, each once. */
class ContentCopy {
  readonly #context: BlobContext;
  readonly #extents: NewExtents;
  readonly #from: BlobKeys;
  readonly #to: BlobKeys;
  readonly #onPiece: () => void;
  #inline: { readonly piece: Piece; readonly bytes: Bytes }[] = [];
  #references = new Map<string, { readonly piece: Piece; count: number }>();
  #inlineBytes = 0;

  constructor(
    context: BlobContext,
    extents: NewExtents,
    {
      from,
      to,
      onPiece,
    }: { readonly from: BlobKeys; readonly to: BlobKeys; readonly onPiece: () => void },
  ) {
    this.#context = context;
    this.#extents = extents;
    this.#from = from;
    this.#to = to;
    this.#onPiece = onPiece;
  }

  async of(record: BlobRecord): Promise<CopiedContent> {
    const { kind, bytes } = record;
    const { ranges, staged } = kind === 'page' ? await this.#pages(record) : noPages;
    const segments = kind === 'page' ? [] : await this.#segments(record);
    return { kind, bytes, segments, ranges, staged, ...this.#taken() };
  }

  async #segments(record: BlobRecord): Promise<Segment[]> {
    const segments: Segment[] = [];
    for await (const { blockId, bytes, piece } of segmentsFrom(
      this.#context.store,
      this.#from,
      record,
      0,
    )) {
      segments.push({ blockId, bytes, piece: await this.#pieceOf(piece) });
    }
    return segments;
  }

  async #pages(record: BlobRecord): Promise<Pick<CopiedContent, 'ranges' | 'staged'>> {
    const { store } = this.#context;
    let ranges: PageRange[] = [];
    let staged: StagedMap | undefined;
    const all = { start: 0, end: record.bytes };
    for await (const range of rangesSeen(store, this.#from, pageViewOf(record), all)) {
      if (ranges.length >= copiedRangesPerCommitMax) {
        staged ??= new StagedMap(this.#context, this.#to);
        await this.#stage(staged, ranges);
        ranges = [];
      }
      // The ranges of a commit are read before any is copied, to keep the time short in which the
      // source could change. The caller notices if it does.
      ranges.push(range);
    }
    return { ranges: await this.#copied(ranges), staged };
  }

  async #copied(ranges: readonly PageRange[]): Promise<PageRange[]> {
    const copied: PageRange[] = [];
    for (const range of ranges) {
      copied.push({ ...range, ...anew, piece: await this.#pieceOf(range.piece) });
    }
    return copied;
  }

  /** Commits ranges. Pieces that later ranges refer to as well are copied once more for those. */
  async #stage(staged: StagedMap, ranges: readonly PageRange[]): Promise<void> {
    const copied = await this.#copied(ranges);
    await staged.add((changes) => {
      putPieces(this.#to, changes, this.#taken());
      putRanges(this.#to, changes, staged.id, copied);
    });
    // The committed map refers to these extents, and is freed with them.
    this.#extents.confirm();
    this.#references = new Map();
    this.#inline = [];
    this.#inlineBytes = 0;
  }

  #taken(): CopiedPieces {
    return { inline: this.#inline, references: this.#references };
  }

  async #pieceOf(piece: Piece): Promise<Piece> {
    const name = piece.kind === 'extent' ? piece.id : `\0${nameOfBytes(piece.id)}`;
    const known = this.#references.get(name);
    if (known !== undefined) {
      known.count += 1;
      return known.piece;
    }
    const copied = await this.#copy(piece);
    this.#onPiece();
    this.#references.set(name, { piece: copied, count: 1 });
    return copied;
  }

  async #copy(piece: Piece): Promise<Piece> {
    const { store } = this.#context;
    const { partition } = this.#to;
    if (piece.kind === 'extent') {
      const { id } = await this.#extents.link(piece.id, partition);
      return { kind: 'extent', id };
    }
    const entry = await store.get(this.#from.inlinePiece(piece.id));
    if (entry === undefined) throw new ContentGoneError();
    const bytes = Buffer.from(entry.value);
    this.#inlineBytes += bytes.length;
    if (this.#inlineBytes > copiedInlineBytesMax) {
      const { id } = await this.#extents.put(inOnePiece(bytes), partition);
      return { kind: 'extent', id };
    }
    const copied: Piece = { kind: 'inline', id: newId(this.#context) };
    this.#inline.push({ piece: copied, bytes });
    return copied;
  }
}

const noPages: Pick<CopiedContent, 'ranges' | 'staged'> = { ranges: [], staged: undefined };

/** A page map of its own begins with its first generation. */
const anew = { writtenIn: 1, from: 1, until: undefined } as const;

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  yield bytes;
}

/**
 * Lets the commit store what was copied. Returns the content; undefined without any bytes. Throws
 * `ContentGoneError`.
 */
export async function putCopied(
  context: Pick<BlobContext, 'clock' | 'randomness'>,
  keys: BlobKeys,
  changes: Changes,
  copied: CopiedContent,
): Promise<Content | undefined> {
  const { kind, segments, ranges, staged } = copied;
  putPieces(keys, changes, copied);
  if (kind !== 'page') return putContent(context, keys, changes, segments);
  await staged?.finish(changes);
  const id = staged?.id ?? newId(context);
  putRanges(keys, changes, id, ranges);
  return { id, isChunked: false, tail: [] };
}

function putPieces(keys: BlobKeys, changes: Changes, { inline, references }: CopiedPieces): void {
  for (const { piece, bytes } of inline) {
    invariant(piece.kind === 'inline', 'an inline piece is inline');
    changes.put(keys.inlinePiece(piece.id), bytes);
  }
  for (const { piece, count } of references.values()) {
    if (count > 1) changes.add(keys.pieceReferences(piece), count - 1);
  }
}

function putRanges(
  keys: BlobKeys,
  changes: Changes,
  id: Bytes,
  ranges: readonly PageRange[],
): void {
  for (const range of ranges) changes.put(pageRangeKey(keys, id, range), encodePageRange(range));
}
