import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { invariant, unreachable } from '../../base/invariant.js';
import type { Entry } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { SweepCursor, type Reclaimed } from '../containers/sweep-cursor.js';
import { entriesOf } from '../containers/walk.js';
import { newId, type BlobContext } from './blob-context.js';
import { garbageGraceMicros } from './blob-readers.js';
import { Changes } from './changes.js';
import { dropReferences } from './contents.js';
import {
  bornMicrosOf,
  decodeExtentGarbage,
  decodeGroupGarbage,
  decodePieceGarbage,
  encodeExtentGarbage,
  encodeGroupGarbage,
} from './garbage.js';
import {
  extentGarbageKey,
  garbageRange,
  keysOfPartition,
  readGarbageKey,
  type BlobKeys,
  type GarbageKey,
} from './keys.js';
import { piecesOf } from './referenced-extents.js';
import type { Piece } from './pieces.js';
import { unseenPages } from './unseen-pages.js';

type Context = Pick<BlobContext, 'store' | 'content' | 'clock' | 'randomness' | 'readers'>;

const groupBytesMax = 1 << 20;

/**
 * Frees garbage of blobs when its grace is over (`BlobReaders`). Each step is a commit that removes
 * references to pieces and lists the extents without any left; then it deletes their files, then
 * the list. So it may be interrupted anywhere, be repeated, and run in several processes.
 */
export function garbageSweep(context: Context): SweepCursor<Entry> {
  const maps: MapPositions = new Map();
  return new SweepCursor({
    all: () => entriesOf(context.store, garbageRange()),
    nameOf: ({ key }) => nameOfBytes(key),
    clear: (entry, entriesMax) => clear({ ...context, maps }, entry, entriesMax),
  });
}

async function clear(
  context: Context & { readonly maps: MapPositions },
  listed: Entry,
  entriesMax: number,
): Promise<Reclaimed> {
  // The entry may have been rewritten, freed in part or freed since it was listed.
  const entry = await context.store.get(listed.key);
  if (entry === undefined) return nothing;
  const found = readGarbageKey(entry.key);
  if (found.kind === 'extents') return freeExtents(context, entry);
  if (!isOver(context, entry, found)) return nothing;
  const keys = keysOfPartition(found.partition);
  switch (found.kind) {
    case 'group':
      return clearGroup(context, keys, entry, { ...found, entriesMax });
    case 'pieces':
      return clearPieces(context, keys, entry);
    case 'map':
      return clearMap(context, keys, entry, { ...found, entriesMax });
    default:
      return unreachable(found);
  }
}

const nothing: Reclaimed = { deleted: 0, more: false };

type BlobGarbage = Exclude<GarbageKey, { kind: 'extents' }>;

function isOver(
  { clock, readers }: Context,
  { value, version }: Entry,
  { kind, partition }: BlobGarbage,
): boolean {
  const isBegun = kind === 'group' && decodeGroupGarbage(value).isBegun === true;
  if (!isBegun && clock.nowMicros() - version < garbageGraceMicros) return false;
  return !readers.needs(partition, bornMicrosOf(value));
}

interface Group extends Extract<GarbageKey, { kind: 'group' }> {
  readonly entriesMax: number;
}

async function clearGroup(
  context: Context,
  keys: BlobKeys,
  entry: Entry,
  { group, id, entriesMax }: Group,
): Promise<Reclaimed> {
  const range = prefixRange(keys.group(group, id));
  const options = { limit: entriesMax, bytesMax: groupBytesMax };
  const { entries, more } = await context.store.range(range, options);
  const garbage = decodeGroupGarbage(entry.value);
  const { pieces, isBegun = false } = garbage;
  const changes = new Changes();
  changes.checkRead(entry.key, entry);
  if (!more) changes.delete(entry.key);
  // A commit that still adds to the group fails by its check.
  else if (!isBegun) changes.put(entry.key, encodeGroupGarbage({ ...garbage, isBegun: true }));
  for (const member of entries) {
    // Another sweep of the same group must not remove the same references again.
    changes.checkRead(member.key, member);
    changes.delete(member.key);
  }
  const released = pieces === 'released' ? entries.flatMap(piecesOf) : [];
  const isDone = await commitRelease(context, keys, changes, released);
  return { deleted: isDone ? entries.length + 1 : 0, more: more || !isDone };
}

/** How far page maps have been scanned, by the name of their garbage entry. */
type MapPositions = Map<string, { readonly version: number; readonly next: Bytes }>;
/** Positions that are kept. One more discards the others, and those scans begin again. */
const mapPositionsMax = 100;

interface PageMap extends Extract<GarbageKey, { kind: 'map' }> {
  readonly entriesMax: number;
}

/** Frees the entries of a page map that no record sees. */
async function clearMap(
  context: Context & { readonly maps: MapPositions },
  keys: BlobKeys,
  entry: Entry,
  { content, entriesMax: limit }: PageMap,
): Promise<Reclaimed> {
  const { store, maps } = context;
  const name = nameOfBytes(entry.key);
  const position = maps.get(name);
  // Another version: the map has lost another record since.
  const from = position?.version === entry.version ? position.next : undefined;
  const { entries, next } = await unseenPages(store, keys, { content, from, limit });
  const changes = new Changes();
  changes.checkRead(entry.key, entry);
  if (next === undefined) changes.delete(entry.key);
  for (const member of entries) {
    changes.checkRead(member.key, member);
    changes.delete(member.key);
  }
  const isDone = await commitRelease(context, keys, changes, entries.flatMap(piecesOf));
  if (isDone) maps.delete(name);
  if (isDone && next !== undefined) {
    if (maps.size >= mapPositionsMax) maps.clear();
    maps.set(name, { version: entry.version, next });
  }
  return { deleted: isDone ? entries.length + 1 : 0, more: next !== undefined || !isDone };
}

async function clearPieces(context: Context, keys: BlobKeys, entry: Entry): Promise<Reclaimed> {
  const { segments } = decodePieceGarbage(entry.value);
  const changes = new Changes();
  changes.checkRead(entry.key, entry);
  changes.delete(entry.key);
  const released = segments.map(({ piece }) => piece);
  const isDone = await commitRelease(context, keys, changes, released);
  return { deleted: isDone ? released.length + 1 : 0, more: !isDone };
}

/**
 * Commits, and frees the extents without references. False when something has changed and nothing
 * was done.
 */
async function commitRelease(
  context: Context,
  keys: BlobKeys,
  changes: Changes,
  pieces: readonly Piece[],
): Promise<boolean> {
  const extents = await releasePieces(context, keys, changes, pieces);
  const note = extents.length === 0 ? undefined : extentGarbageKey(newId(context));
  if (note !== undefined) changes.put(note, encodeExtentGarbage(extents));
  const { ok } = await context.store.commit(changes.batch());
  if (!ok || note === undefined) return ok;
  await context.content.free(extents);
  await context.store.commit({ checks: [], puts: [], deletes: [note] });
  return true;
}

/** Removes references to pieces. Returns the extents without any left. */
async function releasePieces(
  { store }: Context,
  keys: BlobKeys,
  changes: Changes,
  pieces: readonly Piece[],
): Promise<string[]> {
  const counted = new Map<string, { readonly piece: Piece; count: number }>();
  for (const piece of pieces) {
    const name = nameOfBytes(keys.pieceReferences(piece));
    const found = counted.get(name);
    if (found === undefined) counted.set(name, { piece, count: 1 });
    else found.count += 1;
  }
  const released = [...counted.values()];
  const counters = await store.getMany(released.map(({ piece }) => keys.pieceReferences(piece)));
  const extents: string[] = [];
  for (const [index, { piece, count }] of released.entries()) {
    const left = dropReferences(changes, keys.pieceReferences(piece), counters[index], count);
    if (left >= 0) continue;
    if (piece.kind === 'inline') changes.delete(keys.inlinePiece(piece.id));
    else extents.push(piece.id);
  }
  return extents;
}

/** The files may be gone already: a process may have ended before it removed the list. */
async function freeExtents(context: Context, { key, value }: Entry): Promise<Reclaimed> {
  const ids = decodeExtentGarbage(value);
  invariant(ids.length > 0, 'a list of extents names some');
  await context.content.free(ids);
  await context.store.commit({ checks: [], puts: [], deletes: [key] });
  return { deleted: ids.length, more: false };
}
