import { concatBytes, startsWith, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { partitionPrefixLength, storeKey } from '../../kv/partition-prefix.js';
import type { KeyRange } from '../../kv/store.js';
import {
  appendNumber,
  appendString,
  appendTuple,
  decodeTuple,
  elementEnd,
  encodeTuple,
  prefixRange,
  stringAt,
  type TupleElement,
} from '../../kv/tuple.js';
import type { Piece } from './pieces.js';

// Permanent: these values are in every data directory. See docs/internals/blob-keys.md.
/** The first element behind the partition prefix of a blob. */
export const blobKind = {
  base: 0,
  version: 1,
  block: 2,
  chunk: 3,
  page: 4,
  inlinePiece: 5,
  pieceReferences: 6,
  contentReferences: 7,
  blockCount: 8,
} as const;

export type BlobKeyKind = (typeof blobKind)[keyof typeof blobKind];

/** The partition of a container's hints. No blob has an empty name. */
const hintPartition = '';
const tagHintKind = 0;
const dueHintKind = 1;

const contentGarbage = 'content-garbage';
const groupGarbageKind = 0;
const pieceGarbageKind = 1;
const extentGarbageKind = 2;
const mapGarbageKind = 3;
// The elements of a partition prefix follow.
const groupGarbagePrefix = storeKey(contentGarbage, groupGarbageKind);
const pieceGarbagePrefix = storeKey(contentGarbage, pieceGarbageKind);
const mapGarbagePrefix = storeKey(contentGarbage, mapGarbageKind);

/** The kinds of entries that are freed as one group: all that begin with an id. */
export type GroupKind = typeof blobKind.block | typeof blobKind.chunk | typeof blobKind.page;

/**
 * The keys of one blob, all of one partition. An _id_ is 12 random bytes, never used again in the
 * partition: of a content, of an inline piece, of a stage.
 */
export class BlobKeys {
  /** The partition prefix: the owner of the blob's extents. */
  readonly partition: Bytes;
  /** The record of the blob itself. */
  readonly base: Bytes;

  /** `container`: the prefix of the blob's container. */
  constructor(container: Bytes, name: string) {
    this.partition = appendString(container, name);
    this.base = appendNumber(this.partition, blobKind.base);
  }

  /** Everything of the blob. */
  all(): KeyRange {
    return prefixRange(this.partition);
  }

  /** The record of a snapshot, version or deleted blob. `micros` is unique in the blob. */
  version(micros: number): Bytes {
    return appendTuple(this.partition, [blobKind.version, micros]);
  }

  /** The time in the key of a snapshot, version or deleted blob. */
  microsOf(version: Bytes): number {
    const [, micros] = decodeTuple(version, this.partition.length);
    invariant(typeof micros === 'number', 'the key of a version ends with its time');
    return micros;
  }

  /** The records of all snapshots, versions and deleted blobs, oldest first. */
  versions(): KeyRange {
    return prefixRange(appendNumber(this.partition, blobKind.version));
  }

  /** An uncommitted block. */
  block(stage: Bytes, blockId: Bytes): Bytes {
    return appendTuple(this.partition, [blobKind.block, stage, blockId]);
  }

  /** The uncommitted blocks of a stage, in the order of the bytes of their ids. */
  blocks(stage: Bytes): KeyRange {
    return prefixRange(this.group(blobKind.block, stage));
  }

  /** The id in the key of an uncommitted block. */
  blockIdOf(key: Bytes): Bytes {
    const [, , id] = decodeTuple(key, this.partition.length);
    invariant(typeof id === 'object', 'the key of a block ends with its id');
    return id;
  }

  /** A chunk of a content's segments, by the place of its first byte. */
  chunk(content: Bytes, offset: number): Bytes {
    return appendTuple(this.partition, [blobKind.chunk, content, offset]);
  }

  /** A range of the page map of a content, by its first byte and the first generation to see it. */
  page(content: Bytes, offset: number, generation: number): Bytes {
    return appendTuple(this.partition, [blobKind.page, content, offset, generation]);
  }

  /** The place and the generation in the key of a range of a page map. */
  placeOfPage(key: Bytes): { readonly offset: number; readonly from: number } {
    const [, , offset, from] = decodeTuple(key, this.partition.length);
    invariant(typeof offset === 'number' && typeof from === 'number', 'a page key is malformed');
    return { offset, from };
  }

  /** The place of the first byte in the key of a chunk. */
  offsetOf(key: Bytes): number {
    const [, , offset] = decodeTuple(key, this.partition.length);
    invariant(typeof offset === 'number', 'the key of a part of a content ends with its place');
    return offset;
  }

  /** The prefix of all entries of a kind that belong to an id. */
  group(kind: GroupKind, id: Bytes): Bytes {
    return appendTuple(this.partition, [kind, id]);
  }

  /** The bytes of an inline piece. */
  inlinePiece(id: Bytes): Bytes {
    return appendTuple(this.partition, [blobKind.inlinePiece, id]);
  }

  /** The counter of the references to a piece beyond the first. Absent: 0. */
  pieceReferences(piece: Piece): Bytes {
    return appendTuple(this.partition, [blobKind.pieceReferences, piece.id]);
  }

  /** The counter of the records that refer to a content, beyond the first. Absent: 0. */
  contentReferences(content: Bytes): Bytes {
    return appendTuple(this.partition, [blobKind.contentReferences, content]);
  }

  /**
   * The counter of the uncommitted blocks of a stage. Every Put Block adds to it, so its version is
   * the time of the last.
   */
  blockCount(stage: Bytes): Bytes {
    return appendTuple(this.partition, [blobKind.blockCount, stage]);
  }

  /** A group of entries that no record reaches any more. */
  groupGarbage(kind: GroupKind, id: Bytes): Bytes {
    return appendTuple(concatBytes(groupGarbagePrefix, this.partition), [kind, id]);
  }

  /** A list of removed references to pieces. `id` is of a content or a stage, or new. */
  pieceGarbage(id: Bytes, number: number): Bytes {
    return appendTuple(concatBytes(pieceGarbagePrefix, this.partition), [id, number]);
  }

  /**
   * A page map of which one record was deleted while others are left, so that some entries may be
   * visible to none.
   */
  mapGarbage(content: Bytes): Bytes {
    return appendTuple(concatBytes(mapGarbagePrefix, this.partition), [content]);
  }

  /** All garbage of this blob except extents. */
  garbage(): readonly KeyRange[] {
    return [groupGarbagePrefix, pieceGarbagePrefix, mapGarbagePrefix].map((prefix) =>
      prefixRange(concatBytes(prefix, this.partition)),
    );
  }
}

/** The kind of an entry of a blob; undefined for a hint. */
export function kindOfKey(key: Bytes): BlobKeyKind | undefined {
  const end = partitionPrefixLength(key);
  const name = elementEnd(key, elementEnd(key, elementEnd(key, 0)));
  if (stringAt(key, name) === hintPartition) return undefined;
  const [kind] = decodeTuple(key, end, 1);
  invariant(typeof kind === 'number' && kind <= blobKind.blockCount, 'a key of a blob has a kind');
  return kind as BlobKeyKind;
}

/** The name of the blob of a key, given the prefix of its container. Empty for a hint. */
export function blobNameOfKey(key: Bytes, container: Bytes): string {
  return stringAt(key, container.length);
}

/**
 * A hint that a blob has a tag (blob-service §6.6): a candidate of a search, never a proof. Put
 * before the commit that gives the tag.
 */
export function tagHintKey(container: Bytes, key: string, value: string, name: string): Bytes {
  return appendTuple(container, [hintPartition, tagHintKind, key, value, name]);
}

/** The hints of a container for one tag key. A value and a name follow. */
export function tagHintsPrefix(container: Bytes, ...elements: readonly string[]): Bytes {
  return appendTuple(container, [hintPartition, tagHintKind, ...elements]);
}

/** A hint that something in a blob may be due at that time. Put before the commit that needs it. */
export function dueHintKey(container: Bytes, micros: number, name: string): Bytes {
  return appendTuple(container, [hintPartition, dueHintKind, micros, name]);
}

/** The hints of a container that are due by a time, oldest first. */
export function dueHints(container: Bytes, nowMicros: number): KeyRange {
  const start = appendTuple(container, [hintPartition, dueHintKind]);
  return { start, end: appendNumber(start, nowMicros + 1) };
}

/** The time and the name in a due hint. */
export function readDueHint(
  key: Bytes,
  container: Bytes,
): { readonly micros: number; readonly name: string } {
  const [, , micros, name] = decodeTuple(key, container.length);
  invariant(typeof micros === 'number' && typeof name === 'string', 'a due hint is malformed');
  return { micros, name };
}

/** A list of extents to which no entry refers any more, and whose files may still exist. */
export function extentGarbageKey(id: Bytes): Bytes {
  return storeKey(contentGarbage, extentGarbageKind, id);
}

/** The garbage of all blobs. */
export function garbageRange(): KeyRange {
  return prefixRange(storeKey(contentGarbage));
}

/** What an entry of the garbage list frees. */
export type GarbageKey =
  | {
      readonly kind: 'group';
      readonly partition: Bytes;
      readonly group: GroupKind;
      readonly id: Bytes;
    }
  | { readonly kind: 'pieces'; readonly partition: Bytes }
  | { readonly kind: 'map'; readonly partition: Bytes; readonly content: Bytes }
  | { readonly kind: 'extents' };

export function readGarbageKey(key: Bytes): GarbageKey {
  if (startsWith(key, groupGarbagePrefix)) {
    const partition = partitionBehind(key, groupGarbagePrefix);
    const [group, id] = decodeTuple(key, groupGarbagePrefix.length + partition.length);
    invariant(isGroupKind(group) && typeof id === 'object', 'a garbage group is malformed');
    return { kind: 'group', partition, group, id };
  }
  if (startsWith(key, pieceGarbagePrefix)) {
    return { kind: 'pieces', partition: partitionBehind(key, pieceGarbagePrefix) };
  }
  if (startsWith(key, mapGarbagePrefix)) {
    const partition = partitionBehind(key, mapGarbagePrefix);
    const [content] = decodeTuple(key, mapGarbagePrefix.length + partition.length);
    invariant(typeof content === 'object', 'garbage of a page map is malformed');
    return { kind: 'map', partition, content };
  }
  return { kind: 'extents' };
}

function partitionBehind(key: Bytes, prefix: Bytes): Bytes {
  const rest = key.subarray(prefix.length);
  return rest.subarray(0, partitionPrefixLength(rest));
}

function isGroupKind(element: TupleElement | undefined): element is GroupKind {
  return element === blobKind.block || element === blobKind.chunk || element === blobKind.page;
}

/** The keys of a blob whose partition prefix is known. */
export function keysOfPartition(partition: Bytes): BlobKeys {
  const nameAt = elementEnd(partition, elementEnd(partition, elementEnd(partition, 0)));
  return new BlobKeys(partition.subarray(0, nameAt), stringAt(partition, nameAt));
}

/** The prefix of the container of a blob's key or partition. */
export function containerOfKey(key: Bytes): Bytes {
  return key.subarray(0, elementEnd(key, elementEnd(key, elementEnd(key, 0))));
}

/** The account of a blob's key or partition. */
export function accountOfKey(key: Bytes): string {
  const [, account] = decodeTuple(key, 0, 2);
  invariant(typeof account === 'string', 'the key of a blob names its account');
  return account;
}

/** The start of the keys behind the partition of this blob, for a listing that seeks. */
export function afterBlob(container: Bytes, name: string): Bytes {
  const { end } = prefixRange(encodeTuple([name]));
  invariant(end !== undefined, 'a partition has an end');
  return concatBytes(container, end);
}
