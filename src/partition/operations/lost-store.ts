import type { Timers } from '../../base/async/timers.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import type { Catalogue } from '../catalogue.js';
import { concerns, markLost, mayGive } from '../membership.js';
import { answered } from '../reach.js';
import type { OperationRow } from '../rows.js';
import type { Operations } from './operations.js';
import { TakenOverError } from './tools.js';

export interface LostStoreTools {
  readonly catalogue: Catalogue;
  readonly operations: Pick<Operations, 'cancel' | 'carryOut'>;
  readonly timers: Timers;
}

/**
 * Removes a store whose location will never answer again. Cancels moves that would give it a range,
 * and ends all other operations that concern it, without asking it. False when it has a range:
 * nothing was changed then, or moves to it are cancelled. May be repeated, after any failure.
 */
export async function removeLostStore(tools: LostStoreTools, name: string): Promise<boolean> {
  const { catalogue, operations, timers } = tools;
  const cancelled = async (operation: number): Promise<void> => {
    try {
      // The time limit covers the whole cancellation, also the deletions at the source.
      await answered(operations.cancel(operation), { store: name, timers, isLong: true });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      // A store of the move is silent or slow. The move is cancelled all the same and ended below
      // without the lost store. Only if the home store was silent, nothing is cancelled.
      const left = await catalogue.operation(operation);
      if (left !== undefined && mayGive(left.row, name)) throw error;
    }
  };
  do {
    const { ranges } = await catalogue.map();
    if (ranges.some(({ store }) => store === name)) return false;
    await each(tools, (row) => mayGive(row, name), cancelled);
  } while (!(await markLost(catalogue, name)));
  await each(tools, (row) => concerns(row, name), operations.carryOut.bind(operations));
  return true;
}

/** Works on operations one after the other. Another process may do the same with one of them. */
async function each(
  { catalogue }: LostStoreTools,
  isMeant: (row: OperationRow) => boolean,
  work: (operation: number) => Promise<unknown>,
): Promise<void> {
  for (const { row } of await catalogue.operations()) {
    if (!isMeant(row)) continue;
    try {
      await work(row.id);
    } catch (error) {
      if (!(error instanceof TakenOverError)) throw error;
    }
  }
}
