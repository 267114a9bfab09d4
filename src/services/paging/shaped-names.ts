import type { PageShape } from './paging-policy.js';

/** One page of a list of named things, in order of their identities. */
export interface NamePage<T> {
  readonly items: readonly T[];
  /** The identity at which the next page starts; absent on the last page. */
  readonly next?: string;
}

/** How a list is read. */
export interface NameList<T> {
  /** The plain page: up to so many. */
  readonly read: (limit: number) => Promise<NamePage<T>>;
  readonly identityOf: (item: T) => string;
  /** An identity behind one and not behind any that follows it; undefined when there is none. */
  readonly behind: (identity: string) => string | undefined;
}

/** What a request asks of a list. */
export interface PlaceInList {
  readonly limit: number;
  /** The identity that it names as the next one. */
  readonly from: string | undefined;
}

/**
 * A page of a list in a given shape; of two in a row at least one has something or is the last.
 * Lists have no partitions: those shapes are full pages.
 */
export async function shapedNames<T>(
  { read, identityOf, behind }: NameList<T>,
  { limit, from }: PlaceInList,
  { countMax, token, promisesMore }: PageShape,
): Promise<NamePage<T>> {
  const plain = await read(Math.min(limit, Math.max(countMax, 1)));
  const [first] = plain.items;
  if (first === undefined) return plain;
  // A position that names the next one cannot be moved any further without it.
  if (countMax === 0 && identityOf(first) !== from) return { items: [], next: identityOf(first) };
  const last = identityOf(plain.items.at(-1) ?? first);
  const isBetween = plain.next === undefined ? promisesMore : token === 'between';
  const next = (isBetween ? behind(last) : undefined) ?? plain.next;
  return next === undefined ? { items: plain.items } : { items: plain.items, next };
}
