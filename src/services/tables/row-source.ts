import { compareBytes, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Candidate, Entry, KeyRange, Store, Decision } from '../../kv/store.js';
import { isRanged } from '../../kv/ranged-store.js';
import { appendString, keyAfter, prefixRange } from '../../kv/tuple.js';
import { keyBound } from './key-bounds.js';
import type { KeyInterval } from './plan.js';
import type { StringInterval } from './string-set.js';
import type { EntityPosition } from './types.js';

/** Points per read: few at first, because their values may be large, then more. */
const pointsMin = 4;
const pointsMax = 128;
/** The target bytes of one read of points. */
const pointBytesMax = 1 << 20;

/** Rows taken, in key order, from one interval of the plan or from neighbouring points. */
export interface RowPage {
  readonly entries: readonly Entry[];
  /** The number of points without a stored row. */
  readonly pointsMissed: number;
}

export interface RowReader {
  /** Decides about each row in turn. A row that it stops at is the first row of the next page. */
  readonly filter: (candidate: Candidate) => Decision;
  readonly use: (row: Candidate) => void;
  /** The last row that was used. */
  readonly lastUsed: Required<EntityPosition> | undefined;
}

/** The rows of a plan's intervals, page by page, from a position on. */
export class RowSource {
  readonly #store: Store;
  /** The ranges that were read, where the store has ranges. */
  readonly #ranges: Set<number> | undefined;
  readonly #tablePrefix: Bytes;
  readonly #intervals: readonly KeyInterval[];
  /** The keys before it are done; advances with each page. */
  #from: Bytes;
  #interval = 0;
  #points = pointsMin;
  /** Points that were read but not yet filtered, because the last page ended before them. */
  #unfiltered: readonly Entry[] = [];

  constructor(
    store: Store,
    tablePrefix: Bytes,
    intervals: readonly KeyInterval[],
    from: EntityPosition | undefined,
  ) {
    this.#store = store;
    this.#ranges = isRanged(store) ? new Set() : undefined;
    this.#tablePrefix = tablePrefix;
    this.#intervals = intervals;
    this.#from = from === undefined ? tablePrefix : positionKey(tablePrefix, from);
  }

  /** How many ranges of the store had to be read so far; undefined when it has none. */
  get rangesRead(): number | undefined {
    return this.#ranges?.size;
  }

  /** `undefined` after the last row. A page may be empty. Ends where the reader stops. */
  async next(reader: RowReader): Promise<RowPage | undefined> {
    if (this.#unfiltered.length > 0) return this.#filterPoints(this.#unfiltered, reader);
    for (;;) {
      const interval = this.#intervals[this.#interval];
      if (interval === undefined) return undefined;
      if (interval.kind === 'point') {
        const keys = this.#takePoints();
        if (keys.length > 0) return this.#readPoints(keys, reader);
      } else {
        const range = this.#rest(intervalRange(this.#tablePrefix, interval));
        if (range !== undefined) return this.#readRange(range, reader);
        this.#interval += 1;
      }
    }
  }

  /** The keys of the next neighbouring points that are not before the position. */
  #takePoints(): Bytes[] {
    const keys: Bytes[] = [];
    for (; keys.length < this.#points; this.#interval += 1) {
      const interval = this.#intervals[this.#interval];
      if (interval?.kind !== 'point') break;
      const key = entityKey(this.#tablePrefix, interval.partitionKey, interval.rowKey);
      if (compareBytes(key, this.#from) >= 0) keys.push(key);
    }
    return keys;
  }

  async #readPoints(keys: readonly Bytes[], reader: RowReader): Promise<RowPage> {
    for (const key of keys) this.#note({ start: key, end: keyAfter(key) });
    const found = (await this.#store.getMany(keys)).filter((entry) => entry !== undefined);
    this.#pace(found.reduce((bytes, { value }) => bytes + value.length, 0));
    return this.#filterPoints(found, reader, keys.length - found.length);
  }

  /** Doubles the points of the next read while their bytes stay within the target. */
  #pace(bytes: number): void {
    if (bytes > pointBytesMax) this.#points = pointsMin;
    else if (2 * bytes <= pointBytesMax) this.#points = Math.min(pointsMax, 2 * this.#points);
  }

  #filterPoints(points: readonly Entry[], reader: RowReader, pointsMissed = 0): RowPage {
    const entries: Entry[] = [];
    for (const [index, entry] of points.entries()) {
      const candidate = { ...entry, valueLength: entry.value.length };
      const decision = reader.filter(candidate);
      if (decision === 'use') reader.use(candidate);
      if (decision === 'stop') {
        this.#unfiltered = points.slice(index);
        return { entries, pointsMissed };
      }
      if (decision === 'take') entries.push(entry);
    }
    this.#unfiltered = [];
    return { entries, pointsMissed };
  }

  #rest(range: KeyRange): KeyRange | undefined {
    const from = this.#from;
    if (range.end !== undefined && compareBytes(range.end, from) <= 0) return undefined;
    return compareBytes(range.start, from) >= 0 ? range : { ...range, start: from };
  }

  async #readRange(range: KeyRange, reader: RowReader): Promise<RowPage> {
    let stoppedAt: Bytes | undefined;
    const { entries, more } = await this.#store.range(range, {
      limit: Infinity,
      bytesMax: Infinity,
      use: reader.use,
      filter: (candidate) => {
        const decision = reader.filter(candidate);
        if (decision === 'stop') stoppedAt = Buffer.from(candidate.key);
        return decision;
      },
    });
    const next = stoppedAt ?? (more ? keyAfter(this.#lastKey(entries, reader)) : undefined);
    this.#note(next === undefined ? range : { start: range.start, end: next });
    // The page ended where the reader did, or at the end of a partition.
    if (next !== undefined) this.#from = next;
    else this.#interval += 1;
    return { entries, pointsMissed: 0 };
  }

  #note(interval: KeyRange): void {
    if (this.#ranges === undefined || !isRanged(this.#store)) return;
    for (const id of this.#store.rangesIn(interval)) this.#ranges.add(id);
  }

  /** Rows that are taken follow those that are used. */
  #lastKey(entries: readonly Entry[], { lastUsed }: RowReader): Bytes {
    const last = entries.at(-1);
    if (last !== undefined) return last.key;
    invariant(lastUsed !== undefined, 'a page that ends early has an entry');
    return entityKey(this.#tablePrefix, lastUsed.partitionKey, lastUsed.rowKey);
  }
}

function entityKey(tablePrefix: Bytes, partitionKey: string, rowKey: string): Bytes {
  return appendString(appendString(tablePrefix, partitionKey), rowKey);
}

/** The first key at or after a position, which may be outside of the table. */
function positionKey(tablePrefix: Bytes, { partitionKey, rowKey = '' }: EntityPosition): Bytes {
  const partition = keyBound(partitionKey);
  const prefix = appendString(tablePrefix, partition);
  return appendString(prefix, partition === partitionKey ? keyBound(rowKey) : '');
}

type RangeInterval = Exclude<KeyInterval, { kind: 'point' }>;

function intervalRange(tablePrefix: Bytes, interval: RangeInterval): KeyRange {
  return interval.kind === 'rows'
    ? stringRangeOf(appendString(tablePrefix, interval.partitionKey), interval.rows)
    : stringRangeOf(tablePrefix, interval.partitions);
}

/** The keys whose next element after the prefix lies in an interval of strings. */
function stringRangeOf(prefix: Bytes, { start, end }: StringInterval): KeyRange {
  const from = appendString(prefix, start);
  if (end !== undefined) return { start: from, end: appendString(prefix, end) };
  const { end: prefixEnd } = prefixRange(prefix);
  invariant(prefixEnd !== undefined, 'a prefix that begins with a string tag has an end');
  return { start: from, end: prefixEnd };
}
