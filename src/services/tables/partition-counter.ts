import type { PartitionCount } from './types.js';

/** Counts the entities of each partition of a page. They come in key order. */
export class PartitionCounter {
  readonly #counts: { readonly partitionKey: string; count: number }[] = [];

  add(partitionKey: string): void {
    const last = this.#counts.at(-1);
    if (last?.partitionKey === partitionKey) last.count += 1;
    else this.#counts.push({ partitionKey, count: 1 });
  }

  get counts(): readonly PartitionCount[] {
    return this.#counts;
  }
}

/** The partitions of entities in key order. */
export function partitionsOf(
  entities: readonly { readonly partitionKey: string }[],
): readonly PartitionCount[] {
  const counter = new PartitionCounter();
  for (const { partitionKey } of entities) counter.add(partitionKey);
  return counter.counts;
}
