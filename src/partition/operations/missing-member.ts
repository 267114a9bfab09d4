import { GuardError, StoreUnavailableError } from '../../kv/errors.js';
import { guardKey } from '../keys.js';
import { isMember } from '../membership.js';
import { StoreNotOpenError } from '../members.js';
import { answeringMember } from '../reach.js';
import type { MoveRow, OperationRow } from '../rows.js';
import { isTooFarBehind } from './catching-up.js';
import { readGuard } from './held-operation.js';
import { StoreLocationMismatchError, stepsBeforeSwitch, type OperationTools } from './tools.js';

/**
 * Returns an error when this process cannot carry an operation on, because it has not opened one of
 * its stores or has opened another one under that name. Such a process must not take the operation
 * over again and again, because it would keep off a process that has the stores.
 *
 * Returns undefined when it can carry the operation on, and when it cannot finish a move but can
 * make its source serve again. A store that is open here but does not answer is not missing. Only
 * reads.
 */
export async function missingMember(
  tools: OperationTools,
  row: OperationRow,
): Promise<StoreNotOpenError | StoreLocationMismatchError | undefined> {
  for (const name of await storesOf(tools, row)) {
    // An operation that concerns a lost store ends without that store.
    if ((await tools.catalogue.lostStore(name)) !== undefined) continue;
    // Calls wait for the source, and a target that is silent must not keep them waiting.
    const isTarget = row.kind === 'move' && name === row.target;
    if (isTarget && (await sourceWaits(tools, row))) return undefined;
    const missing = await missingStore(tools, row.id, name);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** Whether an error says that a store of an operation is missing here. */
export function isMissingMember(
  error: unknown,
): error is StoreNotOpenError | StoreLocationMismatchError {
  return error instanceof StoreNotOpenError || error instanceof StoreLocationMismatchError;
}

/** The stores that the next step of an operation needs, the source of a move first. */
async function storesOf(
  { catalogue }: OperationTools,
  row: OperationRow,
): Promise<readonly string[]> {
  if (row.kind === 'move') {
    if (row.step === 'activate') return [row.target];
    return row.step === 'clean' ? [row.source] : [row.source, row.target];
  }
  const range = await catalogue.range(row.kind === 'merge' ? row.left : row.range);
  return range === undefined ? [] : [range.row.store];
}

async function missingStore(
  { members, timers }: OperationTools,
  operation: number,
  name: string,
): Promise<StoreNotOpenError | StoreLocationMismatchError | undefined> {
  try {
    const isSame = await isMember(members, name, timers);
    return isSame ? undefined : new StoreLocationMismatchError(operation, name);
  } catch (error) {
    if (error instanceof StoreNotOpenError) return error;
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/**
 * Whether a process that takes a move over has work to do at its source alone: to end a pause, to
 * cancel a move that falls behind, or to make the source of a cancelled move serve.
 */
async function sourceWaits(
  tools: OperationTools,
  { range, source, step }: MoveRow,
): Promise<boolean> {
  // From the switch on the source serves nobody. A `discard` makes no call wait.
  if (step !== 'cancel' && !stepsBeforeSwitch.has(step)) return false;
  const store = answeringMember(tools, source);
  const found = await readGuard(store, range);
  if (found === undefined) return false;
  const { state } = found.row;
  if (step === 'cancel' || state !== 'logging') return state !== 'serving';
  const guard = { key: guardKey(range), version: found.version };
  try {
    return await isTooFarBehind(tools, { name: source, store, guard }, range);
  } catch (error) {
    // Another process has changed the guard meanwhile, so the operation is at work.
    if (error instanceof GuardError) return false;
    throw error;
  }
}
