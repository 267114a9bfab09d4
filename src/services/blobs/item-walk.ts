import type { Clock } from '../../base/clock.js';
import { Slice } from '../../base/async/slice.js';
import { startsWith, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { firstFiltered } from '../../kv/filtered-entries.js';
import type { Candidate, Decision, Entry, KeyRange, Store } from '../../kv/store.js';
import {
  appendString,
  elementEnd,
  keyAfter,
  numberAt,
  prefixRange,
  stringAt,
  stringRange,
} from '../../kv/tuple.js';
import { peekBlobRecord } from './blob-record.js';
import { afterBlob, blobKind, BlobKeys, keysOfPartition } from './keys.js';
import type { ListPosition, ListSelection } from './types.js';

/** An item of a list whose record is not decoded yet. */
export type WalkedItem =
  | { readonly kind: 'prefix'; readonly name: string }
  | { readonly kind: 'base'; readonly name: string; readonly entry: Entry }
  | { readonly kind: 'versions-only'; readonly name: string; readonly entry: Entry }
  | {
      readonly kind: 'version';
      readonly name: string;
      readonly micros: number;
      readonly entry: Entry;
    };

/** The bounds of one page. */
export interface WalkBudget {
  readonly limit: number;
  /** Bounds the entries that are taken; the first is taken whatever its size. */
  readonly bytesMax: number;
  /** The page ends when this time is over, and the rest follows in the next. */
  readonly timeMsMax: number;
}

export interface WalkedPage {
  readonly items: readonly WalkedItem[];
  readonly bytes: number;
  readonly next: ListPosition | undefined;
  /** What ended the page; absent on the last one. */
  readonly endedBy: 'limit' | 'bytes' | 'time' | undefined;
}

/**
 * This many entries of a blob or a group are skipped one by one; then the walk seeks behind all of
 * them. Most blobs have fewer, and a seek costs as much as several entries.
 */
const passedMax = 8;
/** Entries that one read visits before it yields to others. */
const sliceEntriesMax = 1024;
/** Entries between two looks at the clock. */
const entriesBetweenLooks = 128;

/**
 * One page of the items of a container, in the order of List Blobs (blob-service §8.1): by name,
 * and of one blob its snapshots and versions from the oldest on, then the blob. However many
 * entries a blob has beside its record, and however many blobs a group has, each costs one seek.
 */
export async function walkItems(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  container: Bytes,
  selection: ListSelection,
  budget: WalkBudget,
): Promise<WalkedPage> {
  const walk = new Walk(container, selection, budget);
  const began = clock.monotonicMs();
  const slice = new Slice(clock);
  const resumed = walk.resumedBlob();
  if (resumed !== undefined) walk.resume(await store.get(resumed));
  for (let range = walk.start(); range !== undefined;) {
    await slice.endOnTime();
    const isTimeUp = clock.monotonicMs() - began >= budget.timeMsMax;
    const filter = walk.beginRead(() => slice.isOver, isTimeUp);
    const page = await store.range(range, { limit: Infinity, bytesMax: Infinity, filter });
    range = walk.endRead(range, page);
    const left = walk.versionsLeft();
    if (left !== undefined) walk.takeLast(await lastVersion(store, left));
  }
  return walk.page();
}

/** The last version of a deleted blob. */
function lastVersion(store: Store, partition: Bytes): Promise<Entry | undefined> {
  const range = keysOfPartition(partition).versions();
  return firstFiltered(store, range, { reverse: true, filter: takeVersion });
}

function takeVersion({ value }: Candidate): 'take' | 'skip' {
  return isLiveVersion(value) ? 'take' : 'skip';
}

function isLiveVersion(value: Bytes): boolean {
  const { isVersion, isDeleted } = peekBlobRecord(value);
  return isVersion && !isDeleted;
}

/** Why a read has stopped, and where the next one begins. */
type Stop =
  | { readonly kind: 'pause' | 'seek'; readonly start: Bytes }
  | { readonly kind: 'versions-left'; readonly start: Bytes; readonly partition: Bytes }
  | {
      readonly kind: 'end';
      readonly next: ListPosition;
      readonly by: NonNullable<WalkedPage['endedBy']>;
    };

class Walk {
  readonly #container: Bytes;
  readonly #selection: ListSelection;
  readonly #budget: WalkBudget;
  /** Entries of a greater kind are no items. */
  readonly #kindMax: number;
  readonly #taken: Entry[] = [];
  #bytes = 0;
  #stop: Stop | undefined;
  /** The prefix of the keys of the group that was taken last. */
  #group: Bytes | undefined;
  /** The partition of the blob whose record, or last version, was taken last. */
  #blob: Bytes | undefined;
  /** Last versions of deleted blobs, which are listed in place of the blobs. */
  readonly #lastVersions = new Set<Entry>();
  #passed = 0;
  #hasSeen = false;
  // The state of the current read.
  #takenNow = 0;
  #seen = 0;
  #isSliceOver: () => boolean = () => false;
  #isTimeUp = false;

  constructor(container: Bytes, selection: ListSelection, budget: WalkBudget) {
    this.#container = container;
    this.#selection = selection;
    this.#budget = budget;
    const { snapshots, versions = false, versionsOnly = false } = selection;
    this.#kindMax = snapshots || versions || versionsOnly ? blobKind.version : blobKind.base;
  }

  /** The key of the blob in the middle of whose snapshots the page begins; else undefined. */
  resumedBlob(): Bytes | undefined {
    const from = this.#resumed();
    return from === undefined ? undefined : new BlobKeys(this.#container, from.name).base;
  }

  /** Takes the record of that blob, which is listed after its snapshots. */
  resume(entry: Entry | undefined): void {
    if (entry === undefined || !this.#isListed(blobKind.base, entry.value)) return;
    this.#take(entry);
  }

  start(): KeyRange | undefined {
    const { prefix = '', from } = this.#selection;
    const names = stringRange(this.#container, prefix);
    const resumed = this.#resumed();
    if (resumed !== undefined) {
      const keys = new BlobKeys(this.#container, resumed.name);
      return { ...names, start: keys.version(resumed.fromMicros ?? 0) };
    }
    if (from !== undefined && from.name > prefix) {
      return { ...names, start: appendString(this.#container, from.name) };
    }
    // Skips the hints of the container, whose keys have an empty name.
    return prefix === '' ? { ...names, start: afterBlob(this.#container, '') } : names;
  }

  beginRead(isSliceOver: () => boolean, isTimeUp: boolean): (candidate: Candidate) => Decision {
    this.#takenNow = 0;
    this.#seen = 0;
    this.#stop = undefined;
    this.#isSliceOver = isSliceOver;
    this.#isTimeUp = isTimeUp;
    return this.#decide;
  }

  /** Returns the next range to read; undefined when the page is complete. */
  endRead(
    range: KeyRange,
    { entries, more }: { readonly entries: readonly Entry[]; readonly more: boolean },
  ): KeyRange | undefined {
    this.#taken.push(...entries);
    const stop: Stop | undefined = this.#stop;
    if (stop === undefined) {
      if (!more) return undefined;
      const last = entries.at(-1);
      invariant(last !== undefined, 'a page that ends early has an entry');
      return { ...range, start: keyAfter(last.key) };
    }
    return stop.kind === 'end' ? undefined : { ...range, start: stop.start };
  }

  /** The partition of a blob of which only versions are left: its last one is read next. */
  versionsLeft(): Bytes | undefined {
    const stop: Stop | undefined = this.#stop;
    return stop?.kind === 'versions-left' ? stop.partition : undefined;
  }

  takeLast(entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.#take(entry);
    this.#lastVersions.add(entry);
  }

  #take(entry: Entry): void {
    this.#taken.push(entry);
    this.#bytes += entry.key.length + entry.value.length;
    this.#blob = entry.key.subarray(0, this.#nameEnd(entry.key));
  }

  page(): WalkedPage {
    const items: WalkedItem[] = [];
    let base: WalkedItem | undefined;
    for (const entry of this.#taken) {
      const item = this.#itemOf(entry);
      if (base !== undefined && base.name !== item.name) {
        items.push(base);
        base = undefined;
      }
      if (item.kind === 'base' || item.kind === 'versions-only') base = item;
      else items.push(item);
    }
    const end = this.#stop?.kind === 'end' ? this.#stop : undefined;
    // A blob is listed after its snapshots. If some of these are left, it is on a later page.
    const isLater = end?.next.fromMicros !== undefined && base?.name === end.next.name;
    if (base !== undefined && !isLater) items.push(base);
    const bytes = this.#bytes;
    const last = items.at(this.#budget.limit - 1);
    if (items.length > this.#budget.limit && last?.kind === 'version') {
      const next = { name: last.name, fromMicros: last.micros + 1 };
      return { items: items.slice(0, -1), bytes, next, endedBy: 'limit' };
    }
    return { items, bytes, next: end?.next, endedBy: end?.by };
  }

  readonly #decide = (candidate: Candidate): Decision => {
    const { key, value, valueLength } = candidate;
    if (this.#group !== undefined && startsWith(key, this.#group)) return this.#pass(this.#group);
    const nameEnd = this.#nameEnd(key);
    const kind = numberAt(key, nameEnd);
    if (kind > this.#kindMax) return this.#pass(key.subarray(0, nameEnd));
    this.#passed = 0;
    if (this.#isPauseDue()) return this.#pause(candidate);
    this.#seen += 1;
    this.#hasSeen = true;
    if (kind === blobKind.version && this.#isLastLeft(candidate)) return this.#seekLast(candidate);
    if (!this.#isListed(kind, value)) return 'skip';
    const before = this.#itemsBefore(key, kind);
    if (before >= this.#budget.limit) return this.#end(candidate, 'limit');
    const bytes = this.#bytes + key.length + valueLength;
    if (before > 0 && bytes > this.#budget.bytesMax) return this.#end(candidate, 'bytes');
    this.#bytes = bytes;
    this.#takenNow += 1;
    if (kind === blobKind.base) this.#blob = Buffer.from(key.subarray(0, nameEnd));
    const group = this.#groupOf(stringAt(key, this.#container.length));
    if (group !== undefined) this.#group = stringRange(this.#container, group).start;
    return 'take';
  };

  /** The number of items before this one. A blob is listed after its snapshots. */
  #itemsBefore(key: Bytes, kind: number): number {
    const taken = this.#taken.length + this.#takenNow;
    const isSnapshotOf = (blob: Bytes): boolean =>
      kind === blobKind.version && startsWith(key, blob);
    return this.#blob !== undefined && isSnapshotOf(this.#blob) ? taken - 1 : taken;
  }

  #isListed(kind: number, value: Bytes): boolean {
    const { isUncommitted, isDeleted, isVersion } = peekBlobRecord(value);
    const { uncommitted, deleted, snapshots, versions = false } = this.#selection;
    const isBase = kind === blobKind.base;
    invariant(isBase || !isUncommitted, 'no snapshot is uncommitted');
    const isShown = isBase || (isVersion ? versions : snapshots);
    return isShown && (!isUncommitted || uncommitted) && (!isDeleted || deleted);
  }

  /** Whether this is a version of a deleted blob, in place of which its last version is listed. */
  #isLastLeft({ key, value }: Candidate): boolean {
    const { versionsOnly = false, versions = false } = this.#selection;
    if (!versionsOnly || versions) return false;
    return (this.#blob === undefined || !startsWith(key, this.#blob)) && isLiveVersion(value);
  }

  #seekLast(candidate: Candidate): Decision {
    const { key } = candidate;
    if (this.#taken.length + this.#takenNow >= this.#budget.limit) {
      return this.#end(candidate, 'limit');
    }
    const partition = Buffer.from(key.subarray(0, this.#nameEnd(key)));
    const group = this.#groupOf(stringAt(key, this.#container.length));
    if (group !== undefined) this.#group = stringRange(this.#container, group).start;
    const start = this.#selection.snapshots ? keyAfter(key) : prefixRange(partition).end;
    invariant(start !== undefined, 'the keys of a blob have an end');
    this.#stop = { kind: 'versions-left', start, partition };
    return 'stop';
  }

  /** Skips an entry of a blob or a group; after several, seeks to the end of the prefix. */
  #pass(prefix: Bytes): Decision {
    this.#passed += 1;
    if (this.#passed <= passedMax) return 'skip';
    const { end } = prefixRange(prefix);
    invariant(end !== undefined, 'the keys of a blob have an end');
    this.#passed = 0;
    this.#stop = { kind: 'seek', start: end };
    return 'stop';
  }

  /** Never before the first entry of a read, and of a page, so that each makes progress. */
  #isPauseDue(): boolean {
    if (this.#seen === 0) return this.#isTimeUp && this.#hasSeen;
    if (this.#seen >= sliceEntriesMax) return true;
    return this.#seen % entriesBetweenLooks === 0 && this.#isSliceOver();
  }

  #pause(candidate: Candidate): Decision {
    if (this.#isTimeUp) return this.#end(candidate, 'time');
    this.#stop = { kind: 'pause', start: Buffer.from(candidate.key) };
    return 'stop';
  }

  #end({ key }: Candidate, by: NonNullable<WalkedPage['endedBy']>): Decision {
    const nameEnd = this.#nameEnd(key);
    const name = stringAt(key, this.#container.length);
    const isBase = numberAt(key, nameEnd) === blobKind.base;
    const next = isBase ? { name } : { name, fromMicros: microsOf(key, nameEnd) };
    this.#stop = { kind: 'end', next, by };
    return 'stop';
  }

  #itemOf(entry: Entry): WalkedItem {
    const { key } = entry;
    const name = stringAt(key, this.#container.length);
    const group = this.#groupOf(name);
    if (group !== undefined) return { kind: 'prefix', name: group };
    if (this.#lastVersions.has(entry)) return { kind: 'versions-only', name, entry };
    const nameEnd = this.#nameEnd(key);
    if (numberAt(key, nameEnd) === blobKind.base) return { kind: 'base', name, entry };
    return { kind: 'version', name, micros: microsOf(key, nameEnd), entry };
  }

  /** The group that a name belongs to: up to and with the delimiter behind the prefix. */
  #groupOf(name: string): string | undefined {
    const { delimiter, prefix = '' } = this.#selection;
    if (delimiter === undefined) return undefined;
    const at = name.indexOf(delimiter, prefix.length);
    return at < 0 ? undefined : name.slice(0, at + delimiter.length);
  }

  /** The position among the snapshots of a blob, where there is one. A group is one item. */
  #resumed(): ListPosition | undefined {
    const { from, prefix = '' } = this.#selection;
    if (from?.fromMicros === undefined || from.name === '') return undefined;
    const isShown = from.name.startsWith(prefix) && this.#groupOf(from.name) === undefined;
    return isShown ? from : undefined;
  }

  #nameEnd(key: Bytes): number {
    return elementEnd(key, this.#container.length);
  }
}

function microsOf(key: Bytes, nameEnd: number): number {
  return numberAt(key, elementEnd(key, nameEnd));
}
