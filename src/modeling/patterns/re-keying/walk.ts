import { concurrently } from '../../../base/async/concurrently.js';
import type { StoredRow } from '../../rows/row.js';
import { DecodeError, ModelError } from '../../table/errors.js';
import type { MoveKeys, MoveSide, SideState } from './move-side.js';
import { markOf } from './move-mark.js';
import type { Difference } from './moving-rows.js';

/** A difference that a walk over the rows of a move found. */
export interface MoveDrift {
  /**
   * `missing`: an entity had no copy. `surplus`: a copy had no entity. `different`: a copy differed
   * from its entity. These were repaired. `refused`: a row that could not be read, or is in the
   * way, and was kept; see `reason`.
   */
  readonly kind: Difference | 'refused';
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly reason?: string;
}

/** Processes a row. `state` is its state when it was read. */
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

/** The results of a page. */
export interface PageCounts {
  readonly checked: number;
  readonly written: number;
}

/** Processes every row of a page that belongs to the move, several at a time. */
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

/** Whether a row itself caused the error; other refusals of the service end the walk. */
function isOfRow(error: unknown): error is ModelError {
  return error instanceof DecodeError || (error instanceof ModelError && !('status' in error));
}
