import { ModelError } from '../../rows/model-error.js';
import { putOver } from '../../table/conditional-write.js';
import { FollowedState, type FollowOptions } from '../../table/followed-state.js';
import type { TableGateway } from '../../table/gateway.js';
import { mapKey, mapRow, mapStateOf } from './map-row.js';
import type { MapState } from './map-state.js';

/** A map and the ETag of its row. */
export interface ReadMap {
  readonly state: MapState;
  readonly etag: string;
}

/** The stored map. */
export class StoredMap extends FollowedState<MapState> {
  readonly name: string;
  readonly #table: TableGateway;

  constructor(name: string, table: TableGateway, options: FollowOptions) {
    super(options);
    this.name = name;
    this.#table = table;
  }

  /** One point read. Throws `ModelError` when there is no map. */
  async read(): Promise<ReadMap> {
    const found = await this.find();
    if (found !== undefined) return found;
    throw new ModelError(`there is no shard map '${this.name}' in ${this.#table.table}; create it`);
  }

  /** One point read. */
  async find(): Promise<ReadMap | undefined> {
    let etag = '';
    const state = await this.noting(async () => {
      const row = await this.#table.get(mapKey(this.name));
      if (row === undefined) return undefined;
      ({ etag } = row);
      return mapStateOf(this.name, row);
    });
    return state && { state, etag };
  }

  /** One insert, or one update under the ETag that was read. */
  write(state: MapState, etag: string | undefined): Promise<MapState> {
    return this.noting(async () => {
      await this.#table.write(putOver(mapRow(this.name, state), etag));
      return state;
    });
  }

  protected override async load(): Promise<MapState> {
    const { state } = await this.read();
    return state;
  }
}
