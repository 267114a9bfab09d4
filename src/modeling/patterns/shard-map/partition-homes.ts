import type { RowKey } from '../../rows/row.js';
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
 * Where the partitions are that the reads of one query find, by one map. The home of a partition
 * that moves is decided once, when a read first finds it; what a shard gave before it took the
 * partition over may lack it or have an older copy.
 *
 * - A shard that has taken a partition over since its read was sent must be read again (`takenBy`).
 * - When the reads of that shard have passed the partition already (`hasRead`), the shard that
 *   found it adopts it: it gives the rows of the other, which leaves them out from then on.
 */
export class PartitionHomes {
  readonly #rules: HomeRules;
  /** Only of partitions that move. */
  readonly #decided = new Map<string, Home>();
  readonly #deciding = new Map<string, Promise<void>>();
  readonly #taken = new Map<string, number>();
  readonly #adopted = new Map<string, AdoptedPartition[]>();
  /** By shard the key up to which it was read last; undefined: to its end. */
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
   * The shard to read a partition from when it is to be given among the rows of this one;
   * undefined: it is not given there. It must have been decided.
   */
  sourceOf(shard: string, partitionKey: string): string | undefined {
    const { home, before } = this.#rules.route(partitionKey);
    if (before === undefined) return home === shard ? shard : undefined;
    const decided = this.#decided.get(partitionKey);
    return decided?.shownBy === shard ? decided.source : undefined;
  }

  /** How many partitions were found so far that the shard has taken over. */
  takenBy(shard: string): number {
    return this.#taken.get(shard) ?? 0;
  }

  adoptedBy(shard: string): readonly AdoptedPartition[] {
    return this.#adopted.get(shard) ?? [];
  }

  /** A shard was read up to this key and what it has is being given; undefined: to its end. */
  hasRead(shard: string, upTo: RowKey | undefined): void {
    this.#read.set(shard, upTo);
  }

  async #decide(shard: string, partitionKey: string, route: Route): Promise<void> {
    try {
      const source = await this.#rules.decide(route, partitionKey);
      // No wait from here on: a read that ends meanwhile either counts as read or sees `takenBy`.
      const isTaken = source !== undefined && source === route.home;
      const isAdopted = isTaken && source !== shard && this.#isPassed(source, partitionKey);
      this.#decided.set(partitionKey, { source, shownBy: isAdopted ? shard : source });
      if (isTaken) this.#taken.set(source, this.takenBy(source) + 1);
      if (isAdopted) this.#adopt(shard, { partitionKey, source });
    } finally {
      this.#deciding.delete(partitionKey);
    }
  }

  #isPassed(shard: string, partitionKey: string): boolean {
    if (!this.#read.has(shard)) return false;
    const upTo = this.#read.get(shard);
    return upTo === undefined || partitionKey <= upTo.partitionKey;
  }

  #adopt(shard: string, partition: AdoptedPartition): void {
    this.#adopted.set(shard, [...this.adoptedBy(shard), partition]);
  }
}
