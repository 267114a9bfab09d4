import { compareBytes, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Entry, KeyRange, Store } from '../../kv/store.js';
import { appendString, keyAfter, prefixRange } from '../../kv/tuple.js';
import { keyBound } from './key-bounds.js';
import type { KeyInterval } from './plan.js';
import type { StringInterval } from './string-set.js';
import type { EntityPosition } from './types.js';

/** Points that one read asks for, at most. */
const pointsMax = 128;

/** Stored rows in key order, all of one interval of the plan or of neighbouring points. */
export interface RowPage {
  readonly entries: readonly Entry[];
  /** Keys that the store had to look at. */
  readonly keysRead: number;
}

export interface RowPageOptions {
  readonly limit: number;
  readonly bytesMax: number;
}

/** The rows of a plan's intervals, page by page, from a position on. */
export class RowSource {
  readonly #store: Store;
  readonly #tablePrefix: Bytes;
  readonly #intervals: readonly KeyInterval[];
  /** Keys before it are not read; moves behind each page. */
  #from: Bytes;
  #interval = 0;

  constructor(
    store: Store,
    tablePrefix: Bytes,
    intervals: readonly KeyInterval[],
    from: EntityPosition | undefined,
  ) {
    this.#store = store;
    this.#tablePrefix = tablePrefix;
    this.#intervals = intervals;
    this.#from = from === undefined ? tablePrefix : positionKey(tablePrefix, from);
  }

  /** `undefined` behind the last row. A page may be empty. */
  async next(options: RowPageOptions): Promise<RowPage | undefined> {
    for (;;) {
      const interval = this.#intervals[this.#interval];
      if (interval === undefined) return undefined;
      if (interval.kind === 'point') {
        const keys = this.#takePoints(Math.min(options.limit, pointsMax));
        if (keys.length > 0) return this.#readPoints(keys);
      } else {
        const range = this.#rest(intervalRange(this.#tablePrefix, interval));
        if (range !== undefined) return this.#readRange(range, options);
        this.#interval += 1;
      }
    }
  }

  /** The keys of the next neighbouring points that are not before the position. */
  #takePoints(limit: number): Bytes[] {
    const keys: Bytes[] = [];
    for (; keys.length < limit; this.#interval += 1) {
      const interval = this.#intervals[this.#interval];
      if (interval?.kind !== 'point') break;
      const partition = appendString(this.#tablePrefix, interval.partitionKey);
      const key = appendString(partition, interval.rowKey);
      if (compareBytes(key, this.#from) >= 0) keys.push(key);
    }
    return keys;
  }

  async #readPoints(keys: readonly Bytes[]): Promise<RowPage> {
    const found = await this.#store.getMany(keys);
    return { entries: found.filter((entry) => entry !== undefined), keysRead: keys.length };
  }

  #rest(range: KeyRange): KeyRange | undefined {
    const from = this.#from;
    if (range.end !== undefined && compareBytes(range.end, from) <= 0) return undefined;
    return compareBytes(range.start, from) >= 0 ? range : { ...range, start: from };
  }

  async #readRange(range: KeyRange, options: RowPageOptions): Promise<RowPage> {
    const { entries, more } = await this.#store.range(range, options);
    const last = entries.at(-1);
    if (more && last !== undefined) this.#from = keyAfter(last.key);
    else this.#interval += 1;
    return { entries, keysRead: entries.length };
  }
}

/** The first key that is at or behind a position, which need not be one of the table's. */
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

/** The keys whose element behind the prefix lies in an interval of strings. */
function stringRangeOf(prefix: Bytes, { start, end }: StringInterval): KeyRange {
  const from = appendString(prefix, start);
  if (end !== undefined) return { start: from, end: appendString(prefix, end) };
  const { end: prefixEnd } = prefixRange(prefix);
  invariant(prefixEnd !== undefined, 'a prefix that begins with a string tag has an end');
  return { start: from, end: prefixEnd };
}
