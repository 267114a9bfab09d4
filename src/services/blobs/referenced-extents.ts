import { unreachable } from '../../base/invariant.js';
import type { IsReferenced } from '../../content/content-store.js';
import type { Entry, Store } from '../../kv/store.js';
import { entriesOf } from '../containers/walk.js';
import { decodeBlobRecord } from './blob-record.js';
import { decodePieceGarbage } from './garbage.js';
import { blobKind, kindOfKey, keysOfPartition, readGarbageKey, type BlobKeys } from './keys.js';
import type { Piece } from './pieces.js';
import { decodeBlock, decodeSegments, type Segment } from './segments.js';

/** How often the entries of a blob that keeps changing are walked. */
const walksMax = 5;

/** A piece to which an entry refers, and how many of its bytes. */
export type ReferencedPiece = Omit<Segment, 'blockId'>;

/** The pieces to which an entry of a blob refers, each as often as it does. */
export function piecesOf(entry: Entry): readonly Piece[] {
  return referencedPieces(entry).map(({ piece }) => piece);
}

/** The same, with their bytes. */
export function referencedPieces({ key, value, version }: Entry): readonly ReferencedPiece[] {
  const kind = kindOfKey(key);
  switch (kind) {
    case blobKind.base:
    case blobKind.version: {
      const { content } = decodeBlobRecord(value, version);
      return content?.tail ?? [];
    }
    case blobKind.block:
    case blobKind.page:
      return [decodeBlock(value)];
    case blobKind.chunk:
      return decodeSegments(value);
    case blobKind.inlinePiece:
    case blobKind.pieceReferences:
    case blobKind.contentReferences:
    case blobKind.blockCount:
    case undefined:
      return [];
    default:
      return unreachable(kind);
  }
}

/** The extents to which an entry of a blob, or of the garbage list, refers. */
export function extentsOf(entry: Entry): readonly string[] {
  return extentIds(piecesOf(entry));
}

export function extentIds(pieces: readonly Piece[]): string[] {
  return pieces.flatMap((piece) => (piece.kind === 'extent' ? [piece.id] : []));
}

/**
 * Tells the content store to which extents a blob refers. Garbage that is not freed yet counts. The
 * record of a blob changes whenever a reference moves from one entry to another, so a walk during
 * which the record stays sees all references. For a blob that changes during every walk, all
 * extents count as referenced.
 */
export function referencedExtents(store: Store): IsReferenced {
  return async (owner, ids) => {
    const keys = keysOfPartition(owner);
    for (let walk = 0; walk < walksMax; walk += 1) {
      const before = await store.get(keys.base);
      const referenced = await walkBlob(store, keys, new Set(ids));
      const after = await store.get(keys.base);
      if (before?.version === after?.version) return referenced;
    }
    return new Set(ids);
  };
}

async function walkBlob(
  store: Store,
  keys: BlobKeys,
  wanted: ReadonlySet<string>,
): Promise<Set<string>> {
  const referenced = new Set<string>();
  const note = (ids: readonly string[]): void => {
    for (const id of ids) if (wanted.has(id)) referenced.add(id);
  };
  for await (const entry of entriesOf(store, keys.all())) note(extentsOf(entry));
  for (const range of keys.garbage()) {
    for await (const { key, value } of entriesOf(store, range)) {
      if (readGarbageKey(key).kind !== 'pieces') continue;
      note(extentIds(decodePieceGarbage(value).segments.map(({ piece }) => piece)));
    }
  }
  return referenced;
}
