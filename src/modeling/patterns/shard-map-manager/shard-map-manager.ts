import { systemClock, type Clock } from '../../../base/clock.js';
import { holdingTimers } from '../../../base/async/timers.js';
import { own } from '../../../base/own.js';
import { systemRandomness } from '../../../base/randomness.js';
import {
  typedRouting,
  type KeyedRouting,
  type ShardKeyType,
  type ShardKeyValues,
} from '../../../placement/typed-routing.js';
import type { Regions } from '../../../placement/regional-routing.js';
import { DefinitionError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { deleteSettledMap } from '../shard-map/map-row.js';
import { shardsOfState } from '../shard-map/map-state.js';
import { refuseMisplacedRows } from '../shard-map/misplaced-rows.js';
import { ShardBackups } from './shard-backups.js';
import type { ManagedMap } from './managed-map.js';
import { ManagerError } from './manager-errors.js';
import type { ShardMapManagerOptions } from './manager-options.js';
import { ManagerRows, type ManagerRow } from './manager-rows.js';
import { findLost, writeLost, type LostMap, type MapRebuild } from './map-rebuild.js';
import { mapInfos, type MapInfo } from './map-info.js';
import {
  noMap,
  refuseOtherSchema,
  tableIn,
  tablesIn,
  textsOfMap,
  upgradedTexts,
} from './map-registration.js';
import { printOfSchema, routedByKeys, type MapSchema } from './map-schema.js';
import { openedMap } from './opened-map.js';
import { operationOf, type Operation } from './operation-record.js';
import {
  attachShard,
  putOnline,
  requireAllMaps,
  type AttachOptions,
  type AttachReport,
} from './shard-attach.js';
import type { ShardLocation } from './shard-location.js';
import { refuseMoving, refuseUsed, releaseShard, requireUnused } from './shard-release.js';
import { unendedRestore } from './restoring-shards.js';
import {
  isServing,
  refuseDetached,
  requireStatus,
  shardInfo,
  ShardStatuses,
  textsOfShard,
  type ShardChange,
  type ShardDescription,
  type ShardInfo,
} from './shard-statuses.js';
import { ShardTables } from './shard-tables.js';

export interface NewMap<T extends ShardKeyType> {
  readonly name: string;
  /** The name of its table in the account of each shard, which no other map may use. */
  readonly table: string;
  readonly schema: MapSchema<T>;
  readonly routing: KeyedRouting<ShardKeyValues[T]>;
}

const refreshDefault = 5000;

/**
 * Shards and the maps over them, by name, as the control table has them. A shard is an account;
 * each map has a table of its own there, so that several maps on the same shards do not meet. Every
 * method may be called again after a crash.
 */
export class ShardMapManager {
  /** Backups of all shards, by what they hold. */
  readonly backups: ShardBackups;
  readonly #options: ShardMapManagerOptions;
  readonly #rows: ManagerRows;
  readonly #statuses: ShardStatuses;
  readonly #tables: ShardTables;
  readonly #clock: Clock;

  /** Sends nothing. */
  constructor(options: ShardMapManagerOptions) {
    const { control, controlCopies, refreshMs = refreshDefault } = options;
    const { clock = systemClock, randomness = systemRandomness, timers = holdingTimers } = options;
    this.#options = options;
    this.#clock = clock;
    this.#rows = new ManagerRows(control, controlCopies);
    this.#statuses = new ShardStatuses(this.#rows, { clock, timers, refreshMs });
    this.#tables = new ShardTables({
      control,
      rows: this.#rows,
      clock,
      shards: () => this.shards(),
      location: (shard) => this.#location(shard),
      home: (map) => this.#home(map),
    });
    this.backups = new ShardBackups({
      rows: this.#rows,
      clock,
      randomness,
      shards: () => this.shards(),
      location: (shard) => this.#location(shard),
      tables: this.#tables,
    });
  }

  /**
   * Registers a shard, which is online then, after it got the tables of all maps, and their
   * reference data; one that is registered keeps its status, and gets what a killed call has left
   * out. A point read and an insert, a request for each table, the point reads of `attach`, and for
   * its copies of reference data those of `verify` and `distribute`. Throws `DefinitionError` for a
   * shard that this program has no location of, and when maps have reference data and this manager
   * no home, and `ManagerError` for one that a map leads to: its row was lost, and `rebuild` finds
   * it.
   */
  async addShard(
    name: string,
    { region = '', holds = [] }: Partial<Pick<ShardInfo, 'region' | 'holds'>> = {},
  ): Promise<void> {
    this.#location(name);
    const found = await this.#rows.find('shard', name);
    if (found !== undefined) {
      return isServing(shardInfo(found).status) ? this.#tables.endServe(name) : undefined;
    }
    const instead = 'its row was lost: rebuild the map, and attach the shard';
    refuseUsed(await this.maps(), name, instead);
    const texts = textsOfShard({ status: 'online', region, holds });
    await this.#tables.serve(name, () => this.#rows.put('shard', name, texts, undefined));
    this.#statuses.forget();
  }

  /** In the order of their names. A range read. */
  async shards(): Promise<readonly ShardInfo[]> {
    return (await this.#rows.list('shard')).map(shardInfo);
  }

  /**
   * The region of each shard that has one, for `regionalRouting` and `misplacedTexts` of the
   * placement rules. A range read.
   */
  async regions(): Promise<Regions> {
    const known = (await this.shards()).filter(({ region }) => region !== '');
    return Object.fromEntries(known.map(({ name, region }) => [name, region]));
  }

  /**
   * Changes what programs may do with a shard, its region, or what it holds. Programs follow within
   * `refreshMs`: for an exact end of writes move what is there, in a closed mode. A shard that was
   * offline gets the tables and the reference data that it has missed before programs read there
   * again, and one that is to be as it is what a killed call has left out. Throws `ManagerError`
   * for a detached shard that is to be anything else: `attach` it, and for one that comes back with
   * a table that knows nothing of a map that leads there. Two point reads and a write, and for
   * these two the requests of `addShard`.
   */
  async setShard(name: string, change: ShardChange): Promise<ShardInfo> {
    requireStatus(change);
    const info = shardInfo(await this.#shardRow(name));
    refuseDetached(info, change);
    const write = () => this.#changeShard(name, change, refuseDetached);
    const { status = info.status } = change;
    if (!isServing(info.status) && isServing(status)) return this.#tables.serve(name, write);
    if (isServing(status) && change.status === info.status) await this.#tables.endServe(name);
    const changed = await write();
    if (change.status === 'detached') await this.#statuses.untilFollowed();
    return changed;
  }

  /** `check` throws for what may not be changed so. */
  async #changeShard(
    name: string,
    change: ShardChange,
    check: (info: ShardInfo, change: ShardChange) => void = () => undefined,
  ): Promise<ShardInfo> {
    for (;;) {
      const row = await this.#shardRow(name);
      check(shardInfo(row), change);
      const texts = { ...row.texts, ...textsOfShard({ ...shardInfo(row), ...change }) };
      if (!(await this.#rows.put('shard', name, texts, row.etag))) continue;
      this.#statuses.forget();
      return shardInfo({ ...row, texts });
    }
  }

  /**
   * Forgets a shard: nothing finds again what is there. Throws `ManagerError` while a map leads to
   * it, also since a moment ago, and while it has rows, unless they are to be kept as they are.
   * Forgets a restore into it that has not ended. Two reads of each map, range reads of its tables,
   * and two deletes.
   */
  async dropShard(name: string, options: { readonly rows?: 'kept' } = {}): Promise<void> {
    const maps = await this.maps();
    refuseUsed(maps, name, 'move that first');
    for (const { name: map, table } of maps)
      await this.#release({ map, table, shard: name }, options);
    const again = 'a change has begun meanwhile: attach the shard, and run or cancel that';
    refuseUsed(await this.maps(), name, again);
    // A shard that is added under this name is another one: nothing of the restore may reach it.
    await this.backups.giveUpRestore(name, options);
    await this.#rows.remove('shard', name);
    this.#statuses.forget();
  }

  /**
   * Makes a map: registers it, creates its tables, and stores its routing. A map of that name with
   * the same table and schema is opened. Throws `ManagerError` for shards that are not online,
   * `MapSchemaError` for another schema, `ShardTakenError` for tables of another map, and
   * `MisplacedRowsError` for tables with rows where the map would not look for them.
   */
  async create<T extends ShardKeyType>(map: NewMap<T>): Promise<ManagedMap<T>> {
    const { name, table, schema } = map;
    const print = printOfSchema(name, schema);
    const built = typedRouting(print.keyType, map.routing as KeyedRouting<never>);
    if (built.kind === 'refused') {
      throw new DefinitionError(`the map '${name}': ${built.message}`);
    }
    const used = shardsOfState({ version: 1, phase: 'settled', routing: built.routing });
    const online = (await this.shards()).filter(({ status }) => status === 'online');
    for (const shard of used) {
      this.#location(shard);
      if (online.some((info) => info.name === shard)) continue;
      throw new ManagerError(`the map '${name}' needs the shard '${shard}', which is not online`);
    }
    for (const other of await this.maps()) {
      if (other.name === name || other.table !== table) continue;
      throw new ManagerError(`the table '${table}' is that of the map '${other.name}'`);
    }
    const texts = textsOfMap(table, print);
    if (print.references.length > 0) this.#home(name);
    if ((await this.#rows.find('map', name)) === undefined) {
      // As `ShardMap.create` does, before anything is registered.
      const shards = await this.#tables.there(table, Object.keys(this.#options.shards));
      const title = `the map '${name}'`;
      await refuseMisplacedRows({
        title,
        routing: built.routing,
        shards,
        textOf: routedByKeys(schema),
      });
    }
    await this.#rows.put('map', name, texts, undefined);
    const managed = await this.open(name, schema);
    await this.#tables.createEverywhere(name, texts);
    await managed.unguarded.create(built.routing);
    return managed;
  }

  /**
   * A map as programs use it. One point read. Throws `ManagerError` when there is none, and
   * `MapSchemaError` when it has another schema: types, their properties and keys, or a version.
   */
  async open<T extends ShardKeyType>(name: string, schema: MapSchema<T>): Promise<ManagedMap<T>> {
    const print = printOfSchema(name, schema);
    const found = await this.#rows.findReachable('map', name);
    if (found === undefined) throw noMap(name);
    refuseOtherSchema(name, found.texts, print);
    return this.#managed(name, tableIn(found.texts), schema);
  }

  /**
   * Finds which rows of a map the control table has lost, and with `write` makes them again: its
   * registration, the shards that have its tables, as detached, and its routing, by which every
   * partition is on the shard where it was last open, or, where no program has opened it, where its
   * rows are. Attach the shards then. What is there stays as it is: where it is old, `plan` tells
   * the differences of the routing, and `upgrade` gives a map its schema. Called again after a
   * crash. Throws `ModelError` when partitions of one text are on two shards, `ManagerError` for a
   * table of no shard of this map, or one that it has not, and `MapSchemaError` for another schema
   * than the stored one. Range reads of all shards, and a write for each row.
   */
  async rebuild<T extends ShardKeyType>(
    { name, table, schema, routing }: LostMap<T>,
    { write = false }: { readonly write?: boolean } = {},
  ): Promise<MapRebuild> {
    const print = printOfSchema(name, schema);
    const found = await this.#rows.find('map', name);
    if (found !== undefined) refuseOtherSchema(name, found.texts, print);
    if (found !== undefined && found.texts['Table'] !== table) {
      throw new ManagerError(`the table of the map '${name}' is '${found.texts['Table']}'`);
    }
    const locations = Object.entries(this.#options.shards);
    const parts = {
      control: this.#options.control,
      rows: this.#rows,
      tables: new Map(locations.map(([shard, location]) => [shard, location.table(table)])),
      map: this.#managed(name, table, schema),
      texts: textsOfMap(table, print),
    };
    const lost = await findLost(parts, routing);
    if (write) await writeLost(parts, lost);
    this.#statuses.forget();
    return lost;
  }

  /**
   * Gives a map the schema of a later version; programs with the former one are refused from then
   * on when they open it. The type of the keys stays. Of the version that it has, makes the tables
   * that a killed call has left out. A point read and a write, and twice a range read of the shards
   * and a request for each table of each shard.
   */
  async upgrade<T extends ShardKeyType>(
    name: string,
    schema: MapSchema<T>,
  ): Promise<ManagedMap<T>> {
    const print = printOfSchema(name, schema);
    for (;;) {
      const row = await this.#mapRow(name);
      const texts = upgradedTexts(name, row.texts, print);
      if (texts === undefined) {
        const map = await this.open(name, schema);
        // A killed call may have left this out.
        await this.#tables.createEverywhere(name, row.texts);
        return map;
      }
      // Tables first: programs with the new schema find them.
      await this.#tables.createEverywhere(name, texts);
      if (!(await this.#rows.put('map', name, texts, row.etag))) continue;
      // A shard that came back meanwhile knew the former schema.
      await this.#tables.createEverywhere(name, texts);
      return this.open(name, schema);
    }
  }

  /** In the order of their names. A range read, and a point read for each. */
  maps(): Promise<readonly MapInfo[]> {
    return mapInfos(this.#rows, this.#options.control);
  }

  /**
   * Forgets a map; does nothing when there is none. Throws `ManagerError` while it changes, and
   * while its shards have rows, unless they are to be kept as they are: no entity is deleted.
   */
  async drop(name: string, options: { readonly rows?: 'kept' } = {}): Promise<void> {
    const map = (await this.maps()).find((each) => each.name === name);
    if (map === undefined) return;
    refuseMoving(name, map.state?.phase);
    const { control } = this.#options;
    const shards = (await this.shards()).map((info) => info.name);
    for (const shard of shards) {
      await requireUnused(this.#location(shard).table(map.table), shard, options);
    }
    // Another manager may have begun a change since.
    refuseMoving(name, await deleteSettledMap(control, name));
    for (const shard of shards) {
      await this.#release({ map: name, table: map.table, shard }, { rows: 'kept' });
    }
    await this.#rows.remove('map', name);
  }

  async #release(
    { map, table, shard }: { readonly map: string; readonly table: string; readonly shard: string },
    options: { readonly rows?: 'kept' },
  ): Promise<void> {
    const owner = { map, control: this.#options.control.table, shard };
    await releaseShard(this.#location(shard).table(table), owner, options);
  }

  /**
   * Brings the copies of the control table up to date. Call it after changes of shards and schemas,
   * and from time to time; the maps themselves are copied with every change. Range reads of all
   * copies, and three requests for each row that differs. Throws `MapCopyError` for copies that
   * cannot be reached, after the others.
   */
  publish(): Promise<void> {
    return this.#rows.copy();
  }

  /** Lists the operations of all maps, the latest first. One range read for each 1,000. */
  async operations(): Promise<readonly Operation[]> {
    const found = (await this.#rows.list('operation')).map(operationOf);
    return found.toSorted((left, right) => (left.begunAt < right.begunAt ? 1 : -1));
  }

  /** One point read; undefined when there is none. */
  async operation(id: string): Promise<Operation | undefined> {
    const row = await this.#rows.find('operation', id);
    return row && operationOf(row);
  }

  /**
   * A shard, with the tables that maps have there and the versions of their schemas; undefined when
   * it is not registered. A point read and a range read for each kind.
   */
  async describe(name: string): Promise<ShardDescription | undefined> {
    const row = await this.#rows.find('shard', name);
    if (row === undefined) return undefined;
    const maps = (await this.#rows.list('map')).map(({ name: map, texts }) => ({
      map,
      tables: tablesIn(texts),
      schemaVersion: Number(texts['SchemaVersion'] ?? 0),
    }));
    const backup = await this.#rows.find('backup', name);
    const backedUpMs = backup && Number(backup.texts['BegunAtMs']);
    const backedUpAt = backedUpMs === undefined ? undefined : new Date(backedUpMs);
    return Object.freeze({ ...shardInfo(row), maps, backedUpAt });
  }

  /**
   * Takes a shard from all programs, such as before it is restored, and resolves when they have had
   * `refreshMs` of this manager to follow: give all of them the same. Ends an `attach` that is
   * under way, also of a shard that is detached. Called again after a kill, which waits again. Two
   * point reads and a write.
   */
  detach(shard: string): Promise<ShardInfo> {
    return this.setShard(shard, { status: 'detached' });
  }

  /**
   * Brings a detached shard back: compares it with all maps, and writes nothing yet; with `write`
   * it makes the tables that the shard lacks, ends the recovery of a killed call and the
   * differences, keeping what `keep` says, brings its reference data up to date, and lets programs
   * use it again. Differences of other shards alone stay as they are. `maps` are all that there
   * are, opened. Throws `ManagerError` when one is missing, or the shard is not registered; with
   * `write` also while a restore into the shard has not ended, for tables that know nothing of a
   * map that leads to them, unless they are to be `taken` as they are, empty ones too, and for a
   * shard that somebody has changed meanwhile, such as by `detach` or `restore`, which stays as it
   * is then. Throws `ShardTakenError` when the account is that of another shard. Two point reads
   * and a range read of the control table, one point read for each table, two for each map, and the
   * requests of `recovery.plan`; with `write` those of `recover`, `rebuildLocal` and `addShard`.
   */
  async attach(
    shard: string,
    maps: readonly ManagedMap[],
    options: AttachOptions,
  ): Promise<AttachReport> {
    const row = await this.#shardRow(shard);
    // After the row of the shard, which a restore writes together with its own.
    const restoring = await unendedRestore(this.#rows, shard);
    const registered = await this.#rows.list('map');
    requireAllMaps(shard, registered, maps);
    const compared = ({ name, schema }: ManagedMap): ManagedMap => {
      const found = registered.find((each) => each.name === name);
      if (found === undefined) throw noMap(name);
      const lacking = options.write === true ? undefined : shard;
      return this.#managed(name, tableIn(found.texts), schema, lacking);
    };
    const begin = async () => {
      await putOnline(this.#rows, row);
      this.#statuses.forget();
    };
    const parts = { tables: this.#tables, restoring, registered, maps, compared, begin };
    return attachShard(parts, shard, options);
  }

  #managed<T extends ShardKeyType>(
    name: string,
    table: string,
    schema: MapSchema<T>,
    compared?: string,
  ): ManagedMap<T> {
    return openedMap(
      {
        options: this.#options,
        rows: this.#rows,
        statuses: this.#statuses,
        clock: this.#clock,
        shards: () => this.shards(),
        createTables: async (shard, map) => this.#tables.create(shard, [await this.#mapRow(map)]),
        home: () => this.#home(name),
        copies: (each) => this.#copies(each),
      },
      { name, table, schema, compared },
    );
  }

  #home(map: string): ShardLocation {
    const { home } = this.#options;
    if (home !== undefined) return home;
    throw new DefinitionError(`the map '${map}' has reference data, and this manager no home`);
  }

  /** A table of the shards that programs may use. */
  async #copies(table: string): Promise<ReadonlyMap<string, TableGateway>> {
    const used = (await this.shards()).filter(({ status }) => isServing(status));
    return new Map(used.map(({ name }) => [name, this.#location(name).table(table)]));
  }

  #location(shard: string): ShardLocation {
    const location = own(this.#options.shards, shard);
    if (location !== undefined) return location;
    throw new DefinitionError(`this program has no location of the shard '${shard}'`);
  }

  async #shardRow(name: string): Promise<ManagerRow> {
    const row = await this.#rows.find('shard', name);
    if (row !== undefined) return row;
    throw new ManagerError(`there is no shard '${name}'; add it`);
  }

  async #mapRow(name: string): Promise<ManagerRow> {
    const row = await this.#rows.find('map', name);
    if (row !== undefined) return row;
    throw noMap(name);
  }
}

/** A manager of shards and maps. Sends nothing. */
export function shardMapManagerOf(options: ShardMapManagerOptions): ShardMapManager {
  return new ShardMapManager(options);
}
