import { concurrently } from '../../../base/async/concurrently.js';

/** The position of a walk, and its counts until then. */
export interface WalkPosition {
  /** The index of the current segment. When the walk has ended, the number of segments. */
  readonly segment: number;
  /** The cursor within the segment; undefined at its beginning. */
  readonly at: string | undefined;
  /** Items that were worked on. */
  readonly items: number;
  /** The sum of the changes that the work on the items returned. */
  readonly changes: number;
  /** How many of the items could not be worked on. */
  readonly refused: number;
}

export const walkBeginning: WalkPosition = {
  segment: 0,
  at: undefined,
  items: 0,
  changes: 0,
  refused: 0,
};

/** A part of a walk, such as one side of a move or one of several tables. */
export interface Segment<Item> {
  /** One page of items, from a cursor on. `next` is undefined after the last page. */
  readonly page: (
    at: string | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }>;
  /**
   * Works on an item and returns the number of changes. Undefined: the item does not belong to the
   * walk and is not counted.
   */
  readonly work: (item: Item) => Promise<number | 'refused' | undefined>;
}

export interface WalkPace {
  /** Items worked on at the same time. */
  readonly concurrency: number;
  /** Stops the walk before a page. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Works on the items of all segments, in order, page by page. After each page it calls `reached`,
 * which may store the position for another run and returns the position from which to continue: a
 * later one when another program was faster. Undefined ends the walk. If the position after a page
 * was not stored, another run works on that page again, so the work must be idempotent.
 */
export async function walk<Item>(
  segments: readonly Segment<Item>[],
  from: WalkPosition,
  reached: (place: WalkPosition) => Promise<WalkPosition | undefined>,
  { concurrency, signal }: WalkPace,
): Promise<WalkPosition> {
  let place = from;
  for (;;) {
    const segment = segments[place.segment];
    if (segment === undefined) return place;
    signal?.throwIfAborted();
    const page = await segment.page(place.at);
    let { items, changes, refused } = place;
    await concurrently(page.items, concurrency, async (item) => {
      const found = await segment.work(item);
      if (found === undefined) return;
      items += 1;
      if (found === 'refused') refused += 1;
      else changes += found;
    });
    const isEnd = page.next === undefined;
    const segmentNext = place.segment + (isEnd ? 1 : 0);
    const next = { segment: segmentNext, at: page.next, items, changes, refused };
    const onward = await reached(next);
    if (onward === undefined) return next;
    place = onward;
  }
}
