import type { Clock } from '../../../base/clock.js';
import { ModelError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { mapKey, mapRow, mapStateOf } from './map-row.js';
import type { MapState } from './map-state.js';

/** A map and the ETag of its row. */
export interface ReadMap {
  readonly state: MapState;
  readonly etag: string;
}

/** The stored map, with a cache. */
export class StoredMap {
  readonly name: string;
  readonly #table: TableGateway;
  readonly #clock: Clock;
  readonly #refreshMs: number;
  #known: { readonly state: MapState; readonly atMs: number } | undefined;
  #reading: Promise<MapState> | undefined;

  constructor(name: string, table: TableGateway, clock: Clock, refreshMs: number) {
    this.name = name;
    this.#table = table;
    this.#clock = clock;
    this.#refreshMs = refreshMs;
  }

  /** The map, read at most `refreshMs` ago; otherwise one point read. */
  async known(): Promise<MapState> {
    const known = this.#known;
    if (known !== undefined && this.#clock.monotonicMs() - known.atMs < this.#refreshMs) {
      return known.state;
    }
    this.#reading ??= this.fresh().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** The map as of this call. One point read. */
  async fresh(): Promise<MapState> {
    const { state } = await this.read();
    return state;
  }

  /** One point read. Throws `ModelError` when there is no map. */
  async read(): Promise<ReadMap> {
    const found = await this.find();
    if (found !== undefined) return found;
    throw new ModelError(`there is no shard map '${this.name}' in ${this.#table.table}; create it`);
  }

  /** One point read. */
  async find(): Promise<ReadMap | undefined> {
    const atMs = this.#clock.monotonicMs();
    const row = await this.#table.get(mapKey(this.name));
    if (row === undefined) return undefined;
    const state = mapStateOf(this.name, row);
    if (this.#known === undefined || this.#known.state.version <= state.version) {
      this.#known = { state, atMs };
    }
    return { state, etag: row.etag };
  }

  /** One insert, or one update under the ETag that was read. */
  async write(state: MapState, etag: string | undefined): Promise<void> {
    const atMs = this.#clock.monotonicMs();
    const row = mapRow(this.name, state);
    await this.#table.write(
      etag === undefined ? { kind: 'insert', row } : { kind: 'replace', row, etag },
    );
    this.#known = { state, atMs };
  }
}
