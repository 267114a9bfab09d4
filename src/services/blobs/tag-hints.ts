import { compareBytes, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { KeyRange, Put } from '../../kv/store.js';
import { decodeTuple, prefixRange } from '../../kv/tuple.js';
import type { TagComparison } from '../../model/blobs/tag-expression.js';
import type { Tags } from '../../model/blobs/tags.js';
import type { BlobContext } from './blob-context.js';
import {
  blobNameOfKey,
  containerOfKey,
  tagHintKey,
  tagHintsPrefix,
  type BlobKeys,
} from './keys.js';

/**
 * The age at which a hint that no blob justifies is stale. A younger one may belong to a commit
 * that is still under way.
 */
export const tagHintGraceMicros = 60 * 60 * 1_000_000;

const nothing = Buffer.alloc(0);

/**
 * Puts the hints for new tags of a blob. To be called right before the commit that sets the tags,
 * when all bytes are there, so that a search finds every blob through its hints at every moment.
 */
export async function putTagHints(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  tags: Tags,
): Promise<void> {
  if (tags.length === 0) return;
  const container = containerOfKey(keys.base);
  const name = blobNameOfKey(keys.base, container);
  // Existing hints are put again: the new version shows that they are not stale.
  const puts = tags.map(([tag, value]): Put => {
    return { key: tagHintKey(container, tag, value, name), value: nothing };
  });
  await store.commit({ checks: [], puts, deletes: [] });
}

/** The content of a hint. */
export interface TagHint {
  readonly value: string;
  readonly name: string;
}

export function readTagHint(key: Bytes, container: Bytes): TagHint {
  const [, , , value, name] = decodeTuple(key, container.length);
  invariant(typeof value === 'string' && typeof name === 'string', 'a tag hint is malformed');
  return { value, name };
}

/** The tag whose hints a search reads: one that is compared by equality, where there is one. */
export function drivingTag(comparisons: readonly TagComparison[]): string {
  const [first] = comparisons;
  invariant(first !== undefined, 'a search compares a tag');
  return (comparisons.find(({ operator }) => operator === '=') ?? first).tag;
}

/** The hints for a tag that may lead to blobs for which all comparisons hold, by value and name. */
export function hintsOf(
  container: Bytes,
  tag: string,
  comparisons: readonly TagComparison[],
  from: TagHint | undefined,
): KeyRange {
  let { start, end } = prefixRange(tagHintsPrefix(container, tag));
  for (const comparison of comparisons) {
    if (comparison.tag !== tag) continue;
    const { operator, value } = comparison;
    const same = prefixRange(tagHintsPrefix(container, tag, value));
    if (operator === '=' || operator === '>=' || operator === '>') {
      start = compareBytes(start, same.start) < 0 ? same.start : start;
    }
    if (operator === '=' || operator === '<=' || operator === '<') end = lesser(end, same.end);
  }
  if (from !== undefined) {
    const resumed = tagHintKey(container, tag, from.value, from.name);
    start = compareBytes(start, resumed) < 0 ? resumed : start;
  }
  return end === undefined ? { start } : { start, end };
}

function lesser(left: Bytes | undefined, right: Bytes | undefined): Bytes | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return compareBytes(left, right) < 0 ? left : right;
}
