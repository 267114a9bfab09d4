import type { Clock } from '../../../base/clock.js';
import { findMapState } from '../shard-map/map-row.js';
import { shardsOfState } from '../shard-map/map-state.js';
import type { WalkedShard } from '../shard-map/partition-walk.js';
import { leadingOf, ownerOfShard, requireOwner, rowsOfMap } from '../shard-map/shard-binding.js';
import type { TableGateway } from '../../table/gateway.js';
import { ifTableExists } from '../../table/if-table-exists.js';
import { tableExists } from './absent-table.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows, Texts } from './manager-rows.js';
import { referencesIn, tableIn, tablesIn } from './map-registration.js';
import { ReferenceCopies, referenceName, type ComparedBy } from './reference-table.js';
import { createTableOf, type ShardLocation } from './shard-location.js';
import { isServing, type ShardInfo } from './shard-statuses.js';

/** What the manager gives to make the tables of shards. */
export interface ShardTablesParts {
  readonly control: TableGateway;
  readonly rows: ManagerRows;
  readonly clock: Clock;
  readonly shards: () => Promise<readonly ShardInfo[]>;
  /** Throws `DefinitionError` for a shard that this program has no location of. */
  readonly location: (shard: string) => ShardLocation;
  /** Where a map has its reference data. Throws `DefinitionError` for a manager without one. */
  readonly home: (map: string) => ShardLocation;
}

/** What maps lack on a shard. */
export interface LackedTables {
  /** Tables of maps that are not there, such as those that were made while it was detached. */
  readonly missing: readonly string[];
  /**
   * Maps that lead to the shard while its table knows nothing of them, or has lost their rows: it
   * is not there, or empty, or of another account, or was restored without the rows of the map.
   */
  readonly unbound: readonly string[];
}

/** The tables that maps have on shards, and the reference data in them. */
export class ShardTables {
  readonly #parts: ShardTablesParts;

  constructor(parts: ShardTablesParts) {
    this.#parts = parts;
  }

  /**
   * Creates the tables of maps in a shard, and copies their reference data to it. Does so before
   * `begin` writes the row that makes programs read there, and again after it, because what was
   * made, upgraded or distributed in between was not brought to the shard. Reference data are
   * compared row by row: a shard that was away or restored may have the current versions with other
   * rows. Throws `ShardTakenError` for the table of another map or of another shard, and
   * `ManagerError` when a map uses the shard but its table there is not bound to the map.
   */
  async serve<R>(shard: string, begin: () => Promise<R>): Promise<R> {
    const before = await this.#boundMaps(shard);
    await this.#prepare(shard, before, 'rows');
    const begun = await begin();
    const known = new Set(before.map(versionOf));
    const now = await this.#parts.rows.list('map');
    await this.#prepare(
      shard,
      now.filter((row) => !known.has(versionOf(row))),
      'rows',
    );
    for (const row of now) {
      if (known.has(versionOf(row))) await this.#bringReferences(shard, row, 'stamps');
    }
    return begun;
  }

  /** Ends what a killed `serve` has left of a shard that serves already. Throws as `serve`. */
  async endServe(shard: string): Promise<void> {
    await this.#prepare(shard, await this.#boundMaps(shard), 'stamps');
  }

  /** The tables of a map, in the home account and on all shards that programs read. */
  async createEverywhere(map: string, texts: Texts): Promise<void> {
    const { home, shards } = this.#parts;
    for (const each of referencesIn(texts)) {
      await createTableOf(home(map), each, 'the home account');
    }
    for (const { name: shard, status } of await shards()) {
      if (isServing(status)) await this.create(shard, [{ texts }]);
    }
  }

  /** The tables of maps on one shard. */
  async create(shard: string, maps: readonly Pick<ManagerRow, 'texts'>[]): Promise<void> {
    const location = this.#parts.location(shard);
    for (const { texts } of maps) {
      for (const each of tablesIn(texts))
        await createTableOf(location, each, `the shard '${shard}'`);
    }
  }

  /** The tables that maps have on a shard, by name, whatever its status. A range read. */
  async of(shard: string): Promise<ReadonlyMap<string, TableGateway>> {
    const { rows, location } = this.#parts;
    const names = (await rows.list('map')).flatMap(({ texts }) => tablesIn(texts));
    return new Map(names.map((name) => [name, location(shard).table(name)]));
  }

  /** A table on those of the shards where it is already. A point read for each. */
  async there(table: string, shards: readonly string[]): Promise<readonly WalkedShard[]> {
    const found: WalkedShard[] = [];
    for (const name of shards) {
      const gateway = this.#parts.location(name).table(table);
      if (await tableExists(gateway)) found.push({ name, table: gateway });
    }
    return found;
  }

  /**
   * Writes nothing. A point read for each table, and up to four more for each map. Throws
   * `ShardTakenError` for the table of another map, or of another shard.
   */
  async lackedBy(shard: string, maps: readonly ManagerRow[]): Promise<LackedTables> {
    const { control, location } = this.#parts;
    const { table: tableOf } = location(shard);
    const [missing, unbound]: [string[], string[]] = [[], []];
    for (const { name, texts } of maps) {
      for (const each of tablesIn(texts)) {
        if (!(await tableExists(tableOf(each)))) missing.push(each);
      }
      const state = await findMapState(control, name);
      await this.#refuseOther(shard, name, tableIn(texts));
      if (state === undefined || !shardsOfState(state).includes(shard)) continue;
      const found = await rowsOfMap(tableOf(tableIn(texts)), { shard, ...leadingOf(state) });
      if (found.kind !== 'bound') unbound.push(name);
    }
    return { missing, unbound };
  }

  /**
   * Throws `ShardTakenError` when the table of a shard is bound to another map, or to this map as
   * another shard.
   */
  async #refuseOther(shard: string, map: string, tableName: string): Promise<void> {
    const { control, location } = this.#parts;
    const table = location(shard).table(tableName);
    const found = await ifTableExists(() => ownerOfShard(table));
    if (found !== undefined) requireOwner(table, found, { map, control: control.table, shard });
  }

  /**
   * Returns all maps. Throws `ManagerError` when a map uses the shard but its table there is not
   * bound to the map.
   */
  async #boundMaps(shard: string): Promise<readonly ManagerRow[]> {
    const maps = await this.#parts.rows.list('map');
    const { unbound } = await this.lackedBy(shard, maps);
    refuseUnbound(shard, unbound, 'give the right account, or detach the shard, and attach it');
    return maps;
  }

  /** Creates the tables of maps in a shard, and copies their reference data to it. */
  async #prepare(shard: string, maps: readonly ManagerRow[], compared: ComparedBy): Promise<void> {
    for (const { name, texts } of maps) await this.#refuseOther(shard, name, tableIn(texts));
    await this.create(shard, maps);
    for (const row of maps) await this.#bringReferences(shard, row, compared);
  }

  async #bringReferences(
    shard: string,
    { name: map, texts }: ManagerRow,
    compared: ComparedBy,
  ): Promise<void> {
    const { rows, clock, location, home } = this.#parts;
    for (const table of referencesIn(texts)) {
      const copies = new ReferenceCopies({
        name: referenceName(map, table),
        home: home(map).table(table),
        rows,
        clock,
      });
      await copies.bring(shard, location(shard).table(table), compared);
    }
  }
}

/**
 * Throws `ManagerError` for a shard whose table knows nothing of a map. `instead` says what to do.
 */
export function refuseUnbound(shard: string, [map]: readonly string[], instead: string): void {
  if (map === undefined) return;
  throw new ManagerError(
    `the map '${map}' leads to the shard '${shard}', whose table knows nothing of it: ${instead}`,
  );
}

function versionOf({ name, etag }: ManagerRow): string {
  return JSON.stringify([name, etag]);
}
