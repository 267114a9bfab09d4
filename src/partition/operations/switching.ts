import type { Check, Put } from '../../kv/store.js';
import { mapKey, rangeKey } from '../keys.js';
import {
  encodeMapRow,
  encodeRangeRow,
  type MapRow,
  type MoveRow,
  type RangeRow,
  type Versioned,
} from '../rows.js';
import { heldRange, type HeldOperation } from './held-operation.js';
import type { OperationTools } from './tools.js';

/** The rows of the catalogue that the switch of a move changes. */
export interface SwitchRows {
  readonly range: Versioned<RangeRow>;
  readonly map: Versioned<MapRow>;
}

export async function switchRows(
  tools: OperationTools,
  held: HeldOperation<MoveRow>,
): Promise<SwitchRows> {
  const [range, map] = await Promise.all([
    heldRange(tools, held, held.row.range),
    tools.catalogue.mapRow(),
  ]);
  return { range, map };
}

/**
 * The switch: one commit after which the range belongs to the target. `rows`: as they were read
 * before. Returns the row of the range.
 */
export async function switchToTarget(
  tools: OperationTools,
  held: HeldOperation<MoveRow>,
  { floor, rows }: { readonly floor: number; readonly rows: SwitchRows },
): Promise<RangeRow> {
  const { row } = held;
  for (let { range, map } = rows; ;) {
    const moved = { ...range.row, store: row.target, epoch: range.row.epoch + 1 };
    const checks: Check[] = [
      { key: rangeKey(moved.id), version: range.version },
      { key: mapKey, version: map.version },
    ];
    const version = map.row.version + 1;
    const puts: Put[] = [
      { key: rangeKey(moved.id), value: encodeRangeRow(moved) },
      { key: mapKey, value: encodeMapRow({ ...map.row, version }) },
    ];
    if (await held.advance({ ...row, step: 'activate', floor }, { checks, puts })) return moved;
    // An operation on other ranges has changed the row of the map.
    ({ range, map } = await switchRows(tools, held));
  }
}
