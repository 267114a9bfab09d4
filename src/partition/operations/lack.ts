import { GuardError, StoreUnavailableError } from '../../kv/errors.js';
import { guardKey } from '../keys.js';
import { isMember } from '../membership.js';
import { StoreNotOpenError } from '../members.js';
import { answered } from '../reach.js';
import type { MoveRow, OperationRow } from '../rows.js';
import { isTooFarBehind } from './catching-up.js';
import { readGuard } from './held-operation.js';
import { stepsBeforeSwitch } from './move.js';
import { AnotherPlaceError, type OperationTools } from './tools.js';

/**
 * Why this process cannot carry an operation on: it has not opened a store of it, or has it at
 * another place. Such a process must not take the operation over again and again, because it would
 * keep off the one that has the stores. Undefined when it can, and when it cannot finish a move but
 * can let its source go on. A store that does not answer for now, or is silent, is no lack. Reads
 * only.
 */
export async function lackOf(
  tools: OperationTools,
  row: OperationRow,
): Promise<StoreNotOpenError | AnotherPlaceError | undefined> {
  for (const name of await storesOf(tools, row)) {
    // What concerns a store that was taken out as lost ends without it.
    if ((await tools.catalogue.lostStore(name)) !== undefined) continue;
    // Calls wait for the source, and a target that is silent must not keep them waiting.
    const isTarget = row.kind === 'move' && name === row.target;
    if (isTarget && (await sourceWaits(tools, row))) return undefined;
    const lack = await lackOfStore(tools, row.id, name);
    if (lack !== undefined) return lack;
  }
  return undefined;
}

/** Whether an error says that this process lacks a store of an operation. */
export function isLack(error: unknown): error is StoreNotOpenError | AnotherPlaceError {
  return error instanceof StoreNotOpenError || error instanceof AnotherPlaceError;
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

async function lackOfStore(
  { members, timers }: OperationTools,
  operation: number,
  name: string,
): Promise<StoreNotOpenError | AnotherPlaceError | undefined> {
  try {
    const isSame = await answered(isMember(members, name), { store: name, timers });
    return isSame ? undefined : new AnotherPlaceError(operation, name);
  } catch (error) {
    if (error instanceof StoreNotOpenError) return error;
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/**
 * Whether whoever takes a move over has something to do at its source alone: to end a pause, to
 * cancel what writes are too fast for, or to let the source of a cancelled move serve.
 */
async function sourceWaits(
  tools: OperationTools,
  { range, source, step }: MoveRow,
): Promise<boolean> {
  // After the switch calls wait for the target, and a repair makes nobody wait.
  if (step !== 'cancel' && !stepsBeforeSwitch.has(step)) return false;
  const store = tools.members.named(source);
  const { timers } = tools;
  const found = await answered(readGuard(store, range), { store: source, timers });
  if (found === undefined) return false;
  const { state } = found.row;
  if (step === 'cancel' || state !== 'logging') return state !== 'serving';
  const guard = { key: guardKey(range), version: found.version };
  try {
    return await isTooFarBehind(tools, { store, guard }, range);
  } catch (error) {
    // Another process has changed the guard meanwhile, so the operation is at work.
    if (error instanceof GuardError) return false;
    throw error;
  }
}
