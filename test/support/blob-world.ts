import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { nameOfBytes, startsWith, type Bytes } from '../../src/base/bytes.js';
import type { ManualClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness, type Randomness } from '../../src/base/randomness.js';
import type { ContentStore } from '../../src/content/content-store.js';
import { openMemoryContent } from '../../src/content/memory/content.js';
import { decodeCounter } from '../../src/kv/counter.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import type { Entry, Store } from '../../src/kv/store.js';
import { encodeTuple, prefixRange } from '../../src/kv/tuple.js';
import { garbageGraceMicros } from '../../src/services/blobs/blob-readers.js';
import { decodeBlobRecord } from '../../src/services/blobs/blob-record.js';
import { BlobService, type BlobServiceOptions } from '../../src/services/blobs/blob-service.js';
import {
  blobKind,
  garbageRange,
  keysOfPartition,
  kindOfKey,
} from '../../src/services/blobs/keys.js';
import { pageViewOf, type PageView } from '../../src/services/blobs/page-map.js';
import { decodePageRange, isSeen } from '../../src/services/blobs/page-range.js';
import { piecesOf } from '../../src/services/blobs/referenced-extents.js';
import type { BlobAddress, Body, NewProperties } from '../../src/services/blobs/types.js';
import { partitionPrefixLength } from '../../src/kv/partition-prefix.js';
import { manualTimers, type ManualTimers } from './manual-timers.js';

export const account = 'acct';
export const container = 'cont';
export const at = (blob: string): BlobAddress => ({ account, container, blob });
export const microsPerDay = 86_400_000_000;
/** A blob about which nothing is said. */
export const plain: NewProperties = { headers: {}, metadata: [], tags: [] };
export const notFound = { code: 'BlobNotFound' };

/** A content store that knows which extents it has. */
export interface TrackedContent extends ContentStore {
  readonly ids: ReadonlySet<string>;
}

function tracked(content: ContentStore, onLink?: () => Promise<void>): TrackedContent {
  const ids = new Set<string>();
  return {
    ids,
    async put(source, owner) {
      const extent = await content.put(source, owner);
      ids.add(extent.id);
      return extent;
    },
    async link(id, owner) {
      const extent = await content.link(id, owner);
      ids.add(extent.id);
      await onLink?.();
      return extent;
    },
    confirm: (confirmed) => content.confirm(confirmed),
    async free(freed) {
      await content.free(freed);
      for (const id of freed) ids.delete(id);
    },
    async sweepOrphans(options) {
      const step = await content.sweepOrphans(options);
      for (const id of ids) {
        const reader = await content.read(id, 0, 0).catch(() => undefined);
        if (reader === undefined) ids.delete(id);
        reader?.close();
      }
      return step;
    },
    read: (id, start, end) => content.read(id, start, end),
    retain: () => content.retain(),
    suspectAll: () => content.suspectAll(),
    scrub: () => content.scrub(),
    close: () => content.close(),
  };
}

export interface BlobWorld {
  /** The store as it is, without what `commits` does. */
  readonly store: Store;
  readonly content: TrackedContent;
  readonly clock: ManualClock;
  readonly timers: ManualTimers;
  /** Services that share store and content but no knowledge, like processes. */
  readonly services: readonly BlobService[];
}

/** `commits`: what the services commit to instead of the store. `onLink`: after each extent. */
export function blobWorld(
  store: Store,
  options: {
    readonly count?: number;
    /** That of the store. */
    readonly clock: ManualClock;
    readonly randomness?: Randomness;
    readonly commits?: (store: Store) => Store;
    readonly onLink?: () => Promise<void>;
    readonly retention?: BlobServiceOptions['retention'];
    readonly containerRetentionDays?: number;
    readonly versioning?: BlobServiceOptions['versioning'];
    readonly immutability?: BlobServiceOptions['immutability'];
  },
): BlobWorld {
  const { count = 1, clock, randomness = systemRandomness } = options;
  const content = tracked(openMemoryContent(), options.onLink);
  const timers = manualTimers();
  const { retention = () => Promise.resolve(undefined) } = options;
  const ruled = withPartitionRule(options.commits?.(store) ?? store);
  const { containerRetentionDays, versioning = () => false, immutability = () => false } = options;
  const kept = { retention, containerRetentionDays: () => containerRetentionDays };
  const settings = { ...kept, versioning, immutability };
  const shared = { store: ruled, content, randomness, timers, ...settings };
  const services = Array.from(
    { length: count },
    () => new BlobService({ ...shared, clock: forwardClock(clock) }),
  );
  return { store, content, clock, timers, services };
}

/** A service with the container `cont`, and another one beside. */
export async function openBlobs(
  store: Store,
  clock: ManualClock,
  options: Pick<BlobServiceOptions, 'retention' | 'versioning' | 'immutability'> & {
    readonly commits?: (store: Store) => Store;
    readonly onLink?: () => Promise<void>;
  } = {},
): Promise<BlobWorld & { readonly blobs: BlobService; readonly beside: BlobService }> {
  const world = blobWorld(store, { ...options, clock, count: 2 });
  const [blobs, beside] = world.services;
  assert.ok(blobs !== undefined && beside !== undefined);
  await blobs.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
  return { ...world, blobs, beside };
}

/** Bytes that tell their place and their seed. */
export function sample(length: number, seed = 0): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at += 1) bytes[at] = (at * 31 + (at >>> 8) + seed * 7) & 0xff;
  return bytes;
}

/** More than the key space keeps of a blob. */
export const large = sample(100_000);

/** A body in pieces whose memory is used again, as that of connections is. */
export async function* body(bytes: Buffer | string, pieceBytes = 20_000): AsyncGenerator<Buffer> {
  const all = Buffer.from(bytes);
  for (let at = 0; at < all.length; at += pieceBytes) {
    const piece = Buffer.from(all.subarray(at, at + pieceBytes));
    yield piece;
    piece.fill(0xee);
  }
}

export async function collected(pieces: Body): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const piece of pieces) parts.push(Buffer.from(piece));
  return Buffer.concat(parts);
}

export async function readAll(blobs: BlobService, address: BlobAddress): Promise<Buffer> {
  return collected((await blobs.getBlob(address)).body);
}

export function md5Of(bytes: Buffer): Buffer {
  return createHash('md5').update(bytes).digest();
}

const settleStepsMax = 1_000;

/** Lets the grace pass and sweeps until nothing is left to free, by steps of so many entries. */
export async function settle(
  { clock, services }: Pick<BlobWorld, 'clock' | 'services'>,
  entriesMax = 50,
): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    clock.advanceMicros(garbageGraceMicros);
    for (const service of services) {
      for (let step = 0; ; step += 1) {
        assert.ok(step < settleStepsMax, 'the sweeps come to an end');
        if (!(await service.reclaim({ entriesMax })).more) break;
      }
    }
  }
}

/** Everything that the blob service has stored in containers and directories. */
export async function entriesOfBlobs(store: Store): Promise<readonly Entry[]> {
  const all = { limit: 1_000_000, bytesMax: Infinity };
  return (await store.range(prefixRange(encodeTuple(['blob'])), all)).entries;
}

/**
 * Checks what must hold when everything has settled: every extent and every inline piece has the
 * names that are counted, every content has its records, and there is no garbage.
 */
export async function assertTidy({
  store,
  content,
}: {
  readonly store: Store;
  readonly content: Pick<TrackedContent, 'ids'>;
}): Promise<void> {
  const garbage = await store.range(garbageRange(), { limit: 1, bytesMax: 0 });
  assert.equal(garbage.entries.length, 0, 'there is no garbage');
  const names = new Map<string, number>();
  const counted = new Map<string, number>();
  const groups = new Set<string>();
  const reachable = new Set<string>();
  const extents = new Set<string>();
  const inline = new Set<string>();
  const named = new Set<string>();
  const tails = new Set<string>();
  const views: PageView[] = [];
  const count = (key: string) => names.set(key, (names.get(key) ?? 0) + 1);
  for (const entry of await containerEntries(store)) {
    const keys = keysOfPartition(entry.key.subarray(0, partitionPrefixLength(entry.key)));
    const kind = kindOfKey(entry.key);
    for (const piece of isSharedTail(entry, tails) ? [] : piecesOf(entry)) {
      count(nameOfBytes(keys.pieceReferences(piece)));
      if (piece.kind === 'extent') extents.add(piece.id);
      else named.add(nameOfBytes(keys.inlinePiece(piece.id)));
    }
    if (kind === blobKind.base || kind === blobKind.version) {
      const record = decodeBlobRecord(entry.value, entry.version);
      if (record.content !== undefined) {
        count(nameOfBytes(keys.contentReferences(record.content.id)));
        if (record.page !== undefined) views.push(pageViewOf(record));
        reachable.add(nameOfBytes(keys.group(blobKind.chunk, record.content.id)));
        reachable.add(nameOfBytes(keys.group(blobKind.page, record.content.id)));
      }
      if (record.stage !== undefined) {
        reachable.add(nameOfBytes(keys.group(blobKind.block, record.stage.id)));
        groups.add(nameOfBytes(keys.blockCount(record.stage.id)));
      }
    }
    if (kind === blobKind.inlinePiece) inline.add(nameOfBytes(entry.key));
    if (kind === blobKind.pieceReferences || kind === blobKind.contentReferences) {
      counted.set(nameOfBytes(entry.key), decodeCounter(entry.value));
    }
  }
  for (const entry of await containerEntries(store)) {
    const kind = kindOfKey(entry.key);
    const key = nameOfBytes(entry.key);
    if (kind === blobKind.block || kind === blobKind.chunk || kind === blobKind.page) {
      assert.ok(
        [...reachable].some((group) => key.startsWith(group)),
        'an entry is reached',
      );
    }
    if (kind === blobKind.page) assert.ok(isSeenByAny(entry, views), 'a page range is seen');
    if (kind === blobKind.blockCount) assert.ok(groups.has(key), 'a counter has its stage');
  }
  for (const [key, total] of names) assert.equal(counted.get(key) ?? 0, total - 1, 'names counted');
  for (const key of counted.keys()) assert.ok(names.has(key), 'a counter has its piece');
  assert.deepEqual(sorted(inline), sorted(named), 'inline pieces');
  assert.deepEqual(sorted(content.ids), sorted(extents), 'extents');
}

function isSeenByAny(entry: Entry, views: readonly PageView[]): boolean {
  const keys = keysOfPartition(entry.key.subarray(0, partitionPrefixLength(entry.key)));
  const range = decodePageRange(keys, entry);
  const group = nameOfBytes(entry.key);
  return views.some(
    ({ content, generation }) =>
      group.startsWith(nameOfBytes(keys.group(blobKind.page, content))) &&
      isSeen(range, generation),
  );
}

/** Whether another record has the same tail: it belongs to the content. */
function isSharedTail({ key, value, version }: Entry, seen: Set<string>): boolean {
  const kind = kindOfKey(key);
  if (kind !== blobKind.base && kind !== blobKind.version) return false;
  const { content, kind: kindOfBlob } = decodeBlobRecord(value, version);
  if (content === undefined || kindOfBlob === 'append') return false;
  const name = nameOfBytes(content.id);
  if (seen.has(name)) return true;
  seen.add(name);
  return false;
}

/** Everything but directories and hints. */
async function containerEntries(store: Store): Promise<Entry[]> {
  const entries = await entriesOfBlobs(store);
  return entries.filter(({ key }) => !isDirectory(key) && kindOfKey(key) !== undefined);
}

/** Whether it is an entry of the directory of containers. */
export function isDirectory(key: Bytes): boolean {
  return startsWith(key, encodeTuple(['blob', account, 0]));
}

function sorted(values: Iterable<string>): string[] {
  return [...values].toSorted();
}
