import type { Bytes } from '../base/bytes.js';
import type { Guard } from '../kv/guards.js';
import type { KeyRange } from '../kv/store.js';
import type { MemberStore } from '../kv/member-store.js';
import { type Catalogue, versioned } from './catalogue.js';
import { guardKey } from './keys.js';
import { PartitionCounters } from './counters.js';
import type { Members } from './members.js';
import type { RangeMap } from './range-map.js';
import { decodeGuardRow, type RangeRow } from './rows.js';

/** How a front end reaches a range. May be outdated. */
export interface Route {
  readonly range: RangeRow;
  readonly store: MemberStore;
  /** Part of every call, so that the store refuses a front end with an outdated route. */
  readonly guard: Guard;
  /** Commits note the keys that they write. */
  readonly logs: boolean;
  readonly takesWrites: boolean;
}

/**
 * The ranges and their guards as a front end knows them. They may be outdated: stores refuse calls
 * then, and the front end reads them again.
 */
export class Routes {
  readonly #catalogue: Catalogue;
  readonly #members: Members;
  readonly #routes = new Map<number, Route>();
  /** Refreshes under way, by range. */
  readonly #refreshes = new Map<number, Promise<void>>();
  readonly #counters: PartitionCounters;
  #map: RangeMap;

  constructor(
    catalogue: Catalogue,
    members: Members,
    map: RangeMap,
    counters = new PartitionCounters(),
  ) {
    this.#counters = counters;
    this.#catalogue = catalogue;
    this.#members = members;
    this.#map = map;
  }

  at(key: Bytes): RangeRow {
    return this.#map.at(key);
  }

  before(end: Bytes): RangeRow {
    return this.#map.before(end);
  }

  within(interval: KeyRange): readonly RangeRow[] {
    return this.#map.within(interval);
  }

  route(range: RangeRow): Route | undefined {
    return this.#routes.get(range.id);
  }

  /** Drops a route that a store has refused. */
  forget(route: Route): void {
    if (this.#routes.get(route.range.id) === route) this.#routes.delete(route.range.id);
  }

  /** Whether the range has moved to another store or no longer exists. Reads only the catalogue. */
  async isElsewhere({ id, store }: RangeRow): Promise<boolean> {
    return (await this.#catalogue.range(id))?.row.store !== store;
  }

  /**
   * Reads the guard of the range in the store that is known for it; does not read the catalogue.
   */
  async learn(range: RangeRow): Promise<void> {
    const store = this.#members.named(range.store);
    const key = guardKey(range.id);
    const guard = versioned(await store.get(key), decodeGuardRow);
    const state = guard?.row.state;
    if (guard === undefined || state === 'moved' || state === 'incoming') {
      this.#routes.delete(range.id);
      return;
    }
    this.#routes.set(range.id, {
      range,
      store,
      guard: { key, version: guard.version },
      logs: state === 'logging',
      takesWrites: state !== 'fenced',
    });
  }

  /**
   * Reads the row of the range and its guard. A range that no longer exists is replaced by its
   * successors, or by reading all ranges.
   */
  refresh({ id }: RangeRow): Promise<void> {
    const running = this.#refreshes.get(id);
    if (running !== undefined) return running;
    const refresh = this.#refresh(id).finally(() => this.#refreshes.delete(id));
    this.#refreshes.set(id, refresh);
    return refresh;
  }

  async #refresh(id: number): Promise<void> {
    this.#counters.mapRefreshes += 1;
    const found = await this.#catalogue.range(id);
    if (found !== undefined) {
      this.#map = this.#map.with(found.row);
      return this.learn(found.row);
    }
    this.#routes.delete(id);
    const successors = await this.#catalogue.successors(id);
    // The successors were read one by one, so they may be of different times and not fit together.
    const map = (successors && this.#map.withInstead(successors)) ?? (await this.#catalogue.map());
    this.#map = map;
    for (const each of this.#routes.keys()) {
      if (map.byId(each) === undefined) this.#routes.delete(each);
    }
  }
}
