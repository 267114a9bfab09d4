import type { RowKey } from '../../rows/row.js';
import { compareKeys } from '../../rows/text-order.js';
import type { Route } from './map-state.js';

/** How homes are found. */
export interface HomeRules {
  /** Throws `PartitionClosedError` for a partition that may not be read. */
  route(partitionKey: string): Route;
  /** The shard that has the current rows of a partition. May send two point reads. */
  decide(route: Route, partitionKey: string): Promise<string | undefined>;
}

interface Home {
  /** The shard with the rows that count. */
  readonly source: string | undefined;
  /** The shard among whose rows they are given. */
  readonly shownBy: string | undefined;
}

/** A partition that is given among the rows of another shard. */
export interface AdoptedPartition {
  readonly partitionKey: string;
  /** The shard that its rows are read from. */
  readonly source: string;
}

/**
 * The homes of the partitions that queries find, by one map. For a partition that moves this is
 * decided once, when a read first finds it on its former or its new shard. Earlier reads of the new
 * shard may lack the partition or have an older copy of it:
 *
 * - A shard to which a partition has moved since its read was sent must be read again (`takenBy`).
 * - Where a query has already read past the partition on the new shard (`hasRead`), the former
 *   shard adopts the partition: its rows are read from the new shard and given among those of the
 * former one. No query has read past the partition there, because it would have found the partition
 * and decided.
 */
export class PartitionHomes {
  readonly #rules: HomeRules;
  /** The homes of partitions that move. */
  readonly #decided = new Map<string, Home>();
  readonly #deciding = new Map<string, Promise<void>>();
  readonly #taken = new Map<string, number>();
  readonly #adopted = new Map<string, AdoptedPartition[]>();
  /**
   * For each shard, the furthest key up to which a query has read it; undefined when it was read to
   * its end.
   */
  readonly #read = new Map<string, RowKey | undefined>();

  constructor(rules: HomeRules) {
    this.#rules = rules;
  }

  /** Decides the home of a partition that was found on a shard, unless it is known. */
  async decide(shard: string, partitionKey: string): Promise<void> {
    const route = this.#rules.route(partitionKey);
    const { home, before } = route;
    if (before === undefined || (home !== shard && before !== shard)) return;
    if (this.#decided.has(partitionKey)) return;
    const deciding = this.#deciding.get(partitionKey) ?? this.#decide(shard, partitionKey, route);
    this.#deciding.set(partitionKey, deciding);
    await deciding;
  }

  /**
   * The shard to read a partition from, if its rows are given among those of this shard; undefined
   * if they are not. Call `decide` first.
   */
  sourceOf(shard: string, partitionKey: string): string | undefined {
    const { home, before } = this.#rules.route(partitionKey);
    if (before === undefined) return home === shard ? shard : undefined;
    const decided = this.#decided.get(partitionKey);
    return decided?.shownBy === shard ? decided.source : undefined;
  }

  /** The number of partitions found so far that have moved to this shard. */
  takenBy(shard: string): number {
    return this.#taken.get(shard) ?? 0;
  }

  adoptedBy(shard: string): readonly AdoptedPartition[] {
    return this.#adopted.get(shard) ?? [];
  }

  /**
   * Notes that a query gives the rows of a shard up to this key; undefined: up to the end of the
   * shard.
   */
  hasRead(shard: string, upTo: RowKey | undefined): void {
    const furthest = this.#read.get(shard);
    const isBehind =
      this.#read.has(shard) &&
      (furthest === undefined || (upTo !== undefined && compareKeys(upTo, furthest) <= 0));
    if (!isBehind) this.#read.set(shard, upTo);
  }

  async #decide(finder: string, partitionKey: string, route: Route): Promise<void> {
    try {
      const source = await this.#rules.decide(route, partitionKey);
      // No wait from here on: a read that ends meanwhile either counts as read or sees `takenBy`.
      const isTaken = source !== undefined && source === route.home;
      const isPassed = isTaken && this.#isPassed(source, partitionKey, finder);
      const shownBy = isPassed ? route.before : source;
      this.#decided.set(partitionKey, { source, shownBy });
      if (isTaken) this.#taken.set(source, this.takenBy(source) + 1);
      if (isPassed && shownBy !== undefined) this.#adopt(shownBy, { partitionKey, source });
    } finally {
      this.#deciding.delete(partitionKey);
    }
  }

  /**
   * Whether a query has read past this partition on the shard. A page that ends within the
   * partition counts as past it, because its first rows are already given. It does not count when
   * the partition was found on this same shard: that query continues within the partition.
   */
  #isPassed(shard: string, partitionKey: string, finder: string): boolean {
    if (!this.#read.has(shard)) return false;
    const upTo = this.#read.get(shard);
    if (upTo === undefined || partitionKey < upTo.partitionKey) return true;
    return finder !== shard && partitionKey === upTo.partitionKey;
  }

  #adopt(shard: string, partition: AdoptedPartition): void {
    this.#adopted.set(shard, [...this.adoptedBy(shard), partition]);
  }
}
