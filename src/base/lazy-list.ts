/** Items in order, of which there are so many. An array is one. */
export interface List<T> extends Iterable<T> {
  readonly length: number;
}

/**
 * What `make` makes of each of some items, whenever it is asked for: of a long list few are there
 * at a time.
 */
export function lazyList<From, To>(items: List<From>, make: (item: From) => To): List<To> {
  return {
    length: items.length,
    *[Symbol.iterator]() {
      for (const item of items) yield make(item);
    },
  };
}
