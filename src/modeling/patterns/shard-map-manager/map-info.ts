import type { TableGateway } from '../../table/gateway.js';
import { findMapState } from '../shard-map/map-row.js';
import type { MapState } from '../shard-map/map-state.js';
import type { ManagerRows } from './manager-rows.js';
import { tableIn } from './map-registration.js';

/** A map as it is registered. */
export interface MapInfo {
  readonly name: string;
  readonly table: string;
  readonly keyType: string;
  readonly schemaVersion: number;
  /** Undefined: it was registered, and the program that created it has ended before it was. */
  readonly state: MapState | undefined;
}

/** In the order of their names. A range read, and a point read for each. */
export async function mapInfos(
  rows: ManagerRows,
  control: TableGateway,
): Promise<readonly MapInfo[]> {
  const infos: MapInfo[] = [];
  for (const { name, texts } of await rows.list('map')) {
    infos.push({
      name,
      table: tableIn(texts),
      keyType: texts['KeyType'] ?? '',
      schemaVersion: Number(texts['SchemaVersion'] ?? 0),
      state: await findMapState(control, name),
    });
  }
  return infos;
}
