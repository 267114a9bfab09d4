import { dirtyRows } from '../keys.js';
import { dirtyRowsMax } from '../limits.js';
import { answeredSample } from '../reach.js';
import type { OperationRow } from '../rows.js';
import type { HeldOperation } from './held-operation.js';
import type { OperationTools } from './tools.js';
import { catchUp, type GuardedStore, type Target } from './transfer.js';

/** Pages that are copied before dirty rows are, so that few of these collect. */
export const pagesEach = 64;
/** Dirty rows that may be left when writes are paused: few, so that the pause is short. */
const smallRound = 100;
/** The remaining dirty rows are counted once in this many full rounds. */
const roundsEach = 100;
/** Rounds after which a target counts as one that does not catch up. */
const roundsMax = 10_000;

/** The number of dirty rows of a range, at most. */
export function dirtyRowsMaxOf({ limits }: Pick<OperationTools, 'limits'>): number {
  return limits?.dirtyRowsMax ?? dirtyRowsMax;
}

/**
 * Whether the dirty rows of a range exceed their limit. Rejects with `StoreUnavailableError` when
 * the store is silent.
 */
export async function isTooFarBehind(
  tools: Pick<OperationTools, 'limits' | 'timers'>,
  { name, store, guard }: GuardedStore,
  range: number,
): Promise<boolean> {
  const part = { range: dirtyRows(range), cuts: 0, guard };
  const { keys } = await answeredSample(store, part, { store: name, timers: tools.timers });
  return keys > dirtyRowsMaxOf(tools);
}

/**
 * Copies what dirty rows name until a round is small, and yields to other work of the process
 * between rounds. False when commits write faster than that: more than `dirtyRowsMax` rows are left
 * then, or as many after `roundsMax` rounds as before. `onRound` is called after each full round.
 */
export async function catchUpClosely(
  tools: OperationTools,
  held: HeldOperation<OperationRow>,
  {
    range,
    source,
    target,
    onRound,
  }: {
    readonly range: number;
    readonly source: GuardedStore;
    readonly target: Target;
    readonly onRound?: () => Promise<void>;
  },
): Promise<boolean> {
  const { pageEntriesMax: entriesMax } = tools;
  const small = Math.min(smallRound, entriesMax);
  for (let rounds = 1; rounds <= roundsMax; rounds += 1) {
    await held.renew();
    if ((await catchUp(source, target, { range, entriesMax })) < small) return true;
    await onRound?.();
    await tools.giveWay?.();
    if (rounds % roundsEach === 0 && (await isTooFarBehind(tools, source, range))) return false;
  }
  return false;
}
