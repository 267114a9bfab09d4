import type { Bytes } from '../base/bytes.js';
import type { GuardedRangeOptions } from './guards.js';
import type { Entry, KeyRange, RangePage } from './store.js';
import { keyAfter } from './tuple.js';

/** A store whose ranges can be read. */
interface RangeReader {
  range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage>;
}

/**
 * The entries of a range in ascending order, page by page; no page is empty. Each page has a
 * snapshot of its own and is read when it is requested, so later pages show changes that happen
 * while the caller works. The caller may delete the entries of a page before the next one.
 */
export async function* pagesOf(
  store: RangeReader,
  range: KeyRange,
  options: Pick<GuardedRangeOptions, 'limit' | 'bytesMax' | 'guard'>,
): AsyncGenerator<readonly Entry[], void, void> {
  for (let start: Bytes | undefined = range.start; start !== undefined;) {
    const { entries, more }: RangePage = await store.range({ ...range, start }, options);
    if (entries.length > 0) yield entries;
    const last: Entry | undefined = entries.at(-1);
    start = more && last !== undefined ? keyAfter(last.key) : undefined;
  }
}
