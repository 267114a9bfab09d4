/** An ordered sequence with a known length. An array is one. */
export interface List<T> extends Iterable<T> {
  readonly length: number;
}

/**
 * Applies `make` to an item each time the item is read, so that few results of a long list are in
 * memory at once.
 */
export function lazyList<From, To>(items: List<From>, make: (item: From) => To): List<To> {
  return {
    length: items.length,
    *[Symbol.iterator]() {
      for (const item of items) yield make(item);
    },
  };
}
