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

/** How a front end reaches a range, as far as it knows. */
export interface Route {
  readonly range: RangeRow;
  readonly store: MemberStore;
  /** In every call: the store refuses a front end that does not know the latest. */
  readonly guard: Guard;
  /** Commits note the keys that they write. */
  readonly logs: boolean;
  readonly takesWrites: boolean;
}

/**
 * What a front end knows of ranges. It may be outdated, which the stores notice: then it is read
 * again.
 */
export class Routes {
  readonly #catalogue: Catalogue;
  readonly #members: Members;
  readonly #routes = new Map<number, Route>();
  /** By range: a refresh under way. */
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

  /** A store refused the route: it is not used again. */
  forget(route: Route): void {
    if (this.#routes.get(route.range.id) === route) this.#routes.delete(route.range.id);
  }

  /** Reads the guard where the range was last seen; the catalogue is not asked. */
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

  /** Reads where the range is by now, and its guard there; all ranges when it is no more. */
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
    const heirs = await this.#catalogue.heirs(id);
    // Rows are read one after the other, so they may be of different times.
    const map = (heirs && this.#map.withInstead(heirs)) ?? (await this.#catalogue.map());
    this.#map = map;
    for (const each of this.#routes.keys()) {
      if (map.byId(each) === undefined) this.#routes.delete(each);
    }
  }
}
