import { concurrently } from '../../../base/async/concurrently.js';
import type { StoredRow } from '../../rows/row.js';
import { DecodeError, ModelError } from '../../table/errors.js';
import type { MoveKeys, MoveSide, SideState } from './move-side.js';
import { markOf } from './move-mark.js';
import type { Difference } from './moving-rows.js';

/** What a walk over the rows of a move came across. */
export interface MoveDrift {
  /**
   * `missing`: an entity had no copy. `surplus`: a copy had no entity. `different`: a copy was not
   * like its entity. These are mended. `refused`: a row that could not be read, or that is in the
   * way, and was left as it is; `reason` tells more.
   */
  readonly kind: Difference | 'refused';
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly reason?: string;
}

/** What a walk does with a row. `state` is what it was when it was read. */
export type RowWork = (visit: {
  readonly row: StoredRow;
  readonly keys: MoveKeys;
  readonly state: SideState;
}) => Promise<Difference | boolean | undefined>;

export interface WalkOptions {
  readonly side: MoveSide;
  readonly oldSide: MoveSide;
  readonly move: string;
  readonly concurrency: number;
  readonly work: RowWork;
  /** Whether an entity, as a row of the new side, belongs to the move. */
  readonly isMoved: (state: SideState) => boolean;
  readonly onDrift: (drift: MoveDrift) => void;
}

/** What was done with the rows of a page. */
export interface PageCounts {
  readonly checked: number;
  readonly written: number;
}

/** Works on every row of a page that belongs to the move, so many at a time. */
export async function walkPage(
  rows: readonly StoredRow[],
  options: WalkOptions,
): Promise<PageCounts> {
  let checked = 0;
  let written = 0;
  await concurrently(rows, options.concurrency, async (row) => {
    const { partitionKey, rowKey } = row;
    try {
      const visit = visitOf(row, options);
      if (visit === undefined) return;
      checked += 1;
      const found = await options.work(visit);
      if (found !== undefined && found !== false) written += 1;
      if (typeof found === 'string') options.onDrift({ kind: found, partitionKey, rowKey });
    } catch (error) {
      if (!isOfRow(error)) throw error;
      options.onDrift({ kind: 'refused', partitionKey, rowKey, reason: error.message });
    }
  });
  return { checked, written };
}

function visitOf(
  row: StoredRow,
  { side, oldSide, move, isMoved }: WalkOptions,
): Parameters<RowWork>[0] | undefined {
  if (side.isTombstone(row)) {
    const keys = side.goneKeys(row);
    return keys === undefined ? undefined : { row, keys, state: side.stateOf(row) };
  }
  const isForeign = side.side === 'new' && !markOf(row, 'new', move).isMarked;
  if (isForeign || !side.isLive(row)) return undefined;
  const state = side.stateOf(row);
  const { entityRow } = state.content;
  if (entityRow === undefined || !isMoved(state)) return undefined;
  return { row, keys: oldSide.keysOfRow(entityRow), state };
}

/** What a row itself causes; what the service refuses for another reason ends the walk. */
function isOfRow(error: unknown): error is ModelError {
  return error instanceof DecodeError || (error instanceof ModelError && !('status' in error));
}
