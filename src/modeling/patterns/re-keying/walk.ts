import type { StoredRow } from '../../rows/row.js';
import type { CopyDifference } from '../../rows/same-value.js';
import { DecodeError, ModelError } from '../../table/errors.js';
import type { Segment } from '../moves/walk.js';
import type { MoveKeys, MoveSide, SideState } from './move-side.js';
import { isOpen, markOf } from './move-mark.js';
import type { Side } from './phase.js';

/** A difference that a walk over the rows of a move found. */
export interface MoveDrift {
  /**
   * `missing`: an entity had no copy. `surplus`: a copy had no entity. `different`: a copy differed
   * from its entity. These were repaired. `refused`: a row that could not be read or copied, or is
   * in the way, and was kept; see `reason`.
   */
  readonly kind: CopyDifference | 'refused';
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly reason?: string;
}

/** Processes a row. `state` is its state when it was read. */
export type RowWork = (visit: {
  readonly row: StoredRow;
  readonly keys: MoveKeys;
  readonly state: SideState;
}) => Promise<CopyDifference | boolean | undefined>;

export interface RowWalk {
  readonly side: MoveSide;
  readonly oldSide: MoveSide;
  readonly move: string;
  readonly work: RowWork;
  /** Whether an entity, as a row of the new side, belongs to the move. */
  readonly isMoved: (state: SideState) => boolean;
  /** The side that is to own the rows. Those that it owns already need not be readable. */
  readonly to?: Side;
  readonly pageRows: number;
  readonly onDrift: (drift: MoveDrift) => void;
}

/** The rows of a side that belong to the move. A change is a row that was written. */
export function rowsOfSide(rowWalk: RowWalk): Segment<StoredRow> {
  const { side, work, pageRows, onDrift } = rowWalk;
  return {
    page: async (at) => {
      const { rows, cursor } = await side.table.page({ limit: pageRows, cursor: at });
      return { items: rows, next: cursor };
    },
    work: async (row) => {
      const { partitionKey, rowKey } = row;
      try {
        const visit = visitOf(row, rowWalk);
        if (visit === undefined) return undefined;
        const found = await work(visit);
        if (typeof found === 'string') onDrift({ kind: found, partitionKey, rowKey });
        return found === undefined || found === false ? 0 : 1;
      } catch (error) {
        if (!isOfRow(error)) throw error;
        if (isOwned(row, rowWalk)) return undefined;
        onDrift({ kind: 'refused', partitionKey, rowKey, reason: error.message });
        return 'refused';
      }
    },
  };
}

function visitOf(
  row: StoredRow,
  { side, oldSide, move, isMoved }: RowWalk,
): Parameters<RowWork>[0] | undefined {
  if (side.isTombstone(row)) {
    const keys = side.keysOfTombstone(row);
    return keys === undefined ? undefined : { row, keys, state: side.stateOf(row) };
  }
  const isForeign = side.side === 'new' && !markOf(row, 'new', move).isMarked;
  if (isForeign || !side.isLive(row)) return undefined;
  const state = side.stateOf(row);
  const { entityRow } = state.content;
  if (entityRow === undefined || !isMoved(state)) return undefined;
  return { row, keys: oldSide.keysOfRow(entityRow), state };
}

function isOwned(row: StoredRow, { side: { side }, to, move }: RowWalk): boolean {
  return side === to && isOpen(side, markOf(row, side, move).epoch);
}

/** Whether a row itself caused the error; other refusals of the service end the walk. */
function isOfRow(error: unknown): error is ModelError {
  return error instanceof DecodeError || (error instanceof ModelError && !('status' in error));
}
