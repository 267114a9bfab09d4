import type { PageShape } from './paging-policy.js';

/** One page of a list of named things, in order of their identities. */
export interface NamePage<T> {
  readonly items: readonly T[];
  /** The identity at which the next page starts; absent on the last page. */
  readonly next?: string;
}

/** The source of a list. */
export interface NameList<T> {
  /** Reads an unshaped page of up to `limit` names. */
  readonly read: (limit: number) => Promise<NamePage<T>>;
  readonly identityOf: (item: T) => string;
  /**
   * A position after one identity and not after any that follows it; undefined when there is none.
   */
  readonly behind: (identity: string) => string | undefined;
}

/** The position of a request in a list. */
export interface ListPosition {
  readonly limit: number;
  /** The identity that the request continues from. */
  readonly from: string | undefined;
}

/**
 * A page of a list in a given shape. Of two pages in a row, one has an element or is the last.
 * Lists have no partitions: those shapes give full pages.
 */
export async function shapedNames<T>(
  { read, identityOf, behind }: NameList<T>,
  { limit, from }: ListPosition,
  { countMax, token, promisesMore }: PageShape,
): Promise<NamePage<T>> {
  const plain = await read(Math.min(limit, Math.max(countMax, 1)));
  const [first] = plain.items;
  if (first === undefined) return plain;
  // A position at the next name cannot advance without returning it.
  if (countMax === 0 && identityOf(first) !== from) return { items: [], next: identityOf(first) };
  const last = identityOf(plain.items.at(-1) ?? first);
  const isBetween = plain.next === undefined ? promisesMore : token === 'between';
  const next = (isBetween ? behind(last) : undefined) ?? plain.next;
  return next === undefined ? { items: plain.items } : { items: plain.items, next };
}
