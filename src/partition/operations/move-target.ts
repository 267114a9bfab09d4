import type { Bytes } from '../../base/bytes.js';
import { CommitUnknownError } from '../../kv/errors.js';
import { progressKey } from '../keys.js';
import { dataOf } from '../range-map.js';
import { answered, answeringMember } from '../reach.js';
import type { GuardRow, MoveRow, OperationRow, RangeRow, Versioned } from '../rows.js';
import {
  changeGuard,
  isOwn,
  readGuard,
  takeGuardInTime,
  writeGuard,
  type HeldOperation,
} from './held-operation.js';
import { TakenOverError, type OperationTools } from './tools.js';
import { deleteInSteps, guardedStore, type GuardedStore } from './transfer.js';

/** A move in the process that carries it out. */
export interface HeldMove {
  readonly tools: OperationTools;
  readonly held: HeldOperation<MoveRow>;
  readonly range: RangeRow;
}

/**
 * Makes the guard of the target `incoming`. `serves`: the target serves the range as well, so it
 * may have writes that were acknowledged. Nothing was changed then.
 */
export async function claimTarget(move: HeldMove): Promise<'incoming' | 'serves'> {
  const { tools, held, range } = move;
  const { target } = held.row;
  const store = answeringMember(tools, target);
  const left = await guardOfTarget(move);
  if (left === undefined) {
    const { timers } = tools;
    const asked = { store: target, timers, isLong: true, writes: true };
    await answered(writeFirstGuard(move), asked);
    return 'incoming';
  }
  const { state } = left.row;
  if (state === 'incoming') return 'incoming';
  if (state !== 'moved') return 'serves';
  await changeGuard(store, range, held, { before: left, state: 'incoming' });
  return 'incoming';
}

/**
 * The guard of the target, with the token of this process. A process that had the operation before
 * may have written it late, when this one had found none.
 */
function guardOfTarget({ tools, held, range }: HeldMove): Promise<Versioned<GuardRow> | undefined> {
  return takeGuardInTime(tools, held, { store: held.row.target, range: range.id });
}

/**
 * Writes the guard of a target that has none, unless another process has the operation by then.
 * Waits for a silent target, so that a guard that it writes late does not stay without a move.
 */
async function writeFirstGuard({ tools, held, range }: HeldMove): Promise<void> {
  const { id: operation, token, target } = held.row;
  const store = tools.members.named(target);
  const row = { state: 'incoming', epoch: range.epoch, operation, token } as const;
  const write = async () => writeGuard(store, range.id, { before: 'absent', row });
  const readBack = async () => {
    const found = await readGuard(store, range.id);
    return found !== undefined && isOwn(found, held) ? found : undefined;
  };
  const written = await settled(write, readBack);
  if (written === undefined) throw held.takenOver();
  try {
    // Stops a process that was replaced between its read and its write of the guard: the target may
    // serve by now, so it must not be emptied. Who replaces this process later takes the guard.
    await confirm(held);
  } catch (error) {
    // The operation may be over, and then nobody else would delete this guard.
    if (error instanceof TakenOverError) {
      const at = guardedStore(tools, { store: target, id: range.id }, written);
      await settled(
        () => removeGuard(held, at),
        async () => {
          if ((await readBack()) !== undefined) await removeGuard(held, at);
        },
      );
    }
    throw error;
  }
}

/** Does `work`; when its outcome is unknown, returns that of `otherwise`, which looks. */
async function settled<Result>(
  work: () => Promise<Result>,
  otherwise: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CommitUnknownError) return otherwise();
    throw error;
  }
}

/** Throws `TakenOverError` when another process has the operation, or it is over. */
async function confirm(held: HeldOperation<MoveRow>): Promise<void> {
  await settled(
    async () => void (await held.advance(held.row)),
    async () => {
      if (!(await held.reread(isMove))) throw held.takenOver();
    },
  );
}

export function isMove(row: OperationRow): row is MoveRow {
  return row.kind === 'move';
}

/** Deletes what the target has of the range. `guarded`: the target, whose guard is `incoming`. */
export async function clearTarget({ held, range }: HeldMove, guarded: GuardedStore): Promise<void> {
  await guarded.store.ingest({
    entries: [],
    deletes: [progressKey(range.id)],
    floor: 0,
    guard: guarded.guard,
  });
  await deleteInSteps(held, guarded, dataOf(range));
}

/**
 * Deletes what the move has brought to the target, and its guard there, which this process must
 * have taken. Leaves a target that serves the range as well, since it may have writes that were
 * acknowledged.
 */
export async function emptyTarget(move: HeldMove): Promise<void> {
  const { tools, held, range } = move;
  const { target } = held.row;
  const before = await guardOfTarget(move);
  if (before === undefined) return;
  const { state } = before.row;
  if (state !== 'incoming' && state !== 'moved') return;
  // What a failed step had under way at a slow target is not applied after this.
  const alone = await changeGuard(answeringMember(tools, target), range, held, { before, state });
  const guarded = guardedStore(tools, { store: target, id: range.id }, alone);
  await deleteInSteps(held, guarded, dataOf(range));
  await removeGuard(held, guarded, [progressKey(range.id)]);
}

/** Deletes the guard of a range, and more. Throws `TakenOverError` when the guard has changed. */
export async function removeGuard(
  held: HeldMove['held'],
  { store, guard }: GuardedStore,
  more: readonly Bytes[] = [],
): Promise<void> {
  const checks = [{ key: guard.key, version: guard.version }];
  const result = await store.fence({ checks, puts: [], deletes: [guard.key, ...more] });
  if (!result.ok) throw held.takenOver();
}
