import type { PageShape } from './paging-policy.js';

/** One page of a list of named things, in order. */
export interface NamePage<T, Position = string> {
  readonly items: readonly T[];
  /** Where the next page starts; absent on the last page. */
  readonly next?: Position;
}

/** The source of a list, and a request for a page of it. */
export interface NameList<T, Position = string> {
  /** Reads an unshaped page of up to `limit` names. */
  readonly read: (limit: number) => Promise<NamePage<T, Position>>;
  /**
   * Where a page starts with an item that is the first of its name; undefined when the request
   * continues from there already.
   */
  readonly startOf: (item: T) => Position | undefined;
  /** A position after one item and not after any that follows it; undefined when there is none. */
  readonly after: (item: T) => Position | undefined;
  /** Items that the request asks for, at most. */
  readonly limit: number;
}

/**
 * A page of a list in a given shape. Of two pages in a row, one has an element or is the last.
 * Lists have no partitions: those shapes give full pages.
 */
export async function shapedNames<T, Position = string>(
  { read, startOf, after, limit }: NameList<T, Position>,
  { countMax, token, promisesMore }: PageShape,
): Promise<NamePage<T, Position>> {
  const plain = await read(Math.min(limit, Math.max(countMax, 1)));
  const [first] = plain.items;
  if (first === undefined) return plain;
  // A position at the next name cannot advance without returning it.
  const start = countMax === 0 ? startOf(first) : undefined;
  if (start !== undefined) return { items: [], next: start };
  const isBetween = plain.next === undefined ? promisesMore : token === 'between';
  const next = (isBetween ? after(plain.items.at(-1) ?? first) : undefined) ?? plain.next;
  return next === undefined ? { items: plain.items } : { items: plain.items, next };
}
