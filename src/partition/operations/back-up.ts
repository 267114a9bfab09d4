import { dirtyRows, progressKey } from '../keys.js';
import { dataOf } from '../range-map.js';
import {
  answeringMember,
  answeringStore,
  askedMember,
  backupDirectory,
  type AskedMember,
} from '../reach.js';
import type { BackupRow, GuardRow, RangeRow, Versioned } from '../rows.js';
import {
  changeGuard,
  heldRange,
  ownGuard,
  releaseRange,
  takeGuardInTime,
  type HeldOperation,
} from './held-operation.js';
import { catchUpClosely, dirtyRowsMaxOf, pagesEach } from './catching-up.js';
import { BackupTooSlowError, type OperationTools, type OperationEnd } from './tools.js';
import { catchUp, copyPages, deleteInSteps, guardedStore, type GuardedStore } from './transfer.js';

type Held = HeldOperation<BackupRow>;

/** How often writes are paused, at most, when the last of them take too long to copy. */
const pausesMax = 1_000;

/**
 * Copies a range, as it is at one moment, to a store outside of the key space. Reads go on; writes
 * pause at that moment. Afterwards the range is served as before, also when copying failed. Throws
 * `BackupTooSlowError` when clients write faster than it copies.
 */
export async function backUp(
  tools: OperationTools,
  held: Held,
  target: AskedMember,
): Promise<void> {
  const range = (await heldRange(tools, held, held.row.range)).row;
  const source = answeringMember(tools, range.store);
  await takeGuardInTime(tools, held, { store: range.store, range: range.id });
  try {
    await copy(tools, held, { range, source, target });
  } catch (error) {
    // When this fails too, a process that takes the backup over makes the range serve.
    await Promise.allSettled([serveAgain(tools, held, range)]);
    throw error;
  }
  await serveAgain(tools, held, range);
}

/** Ends a backup whose process has died, or that was cancelled: the range is served as before. */
export async function undoBackup(tools: OperationTools, held: Held): Promise<OperationEnd> {
  const range = (await heldRange(tools, held, held.row.range)).row;
  await takeGuardInTime(tools, held, { store: range.store, range: range.id });
  await serveAgain(tools, held, range);
  return 'cancelled';
}

async function copy(
  tools: OperationTools,
  held: Held,
  { range, source, target }: { range: RangeRow; source: AskedMember; target: AskedMember },
): Promise<void> {
  const entriesMax = tools.pageEntriesMax;
  const change = (before: Versioned<GuardRow>, state: 'logging' | 'fenced') =>
    held.guarded(changeGuard(source, range, held, { before, state }));
  const from = (at: Versioned<GuardRow>): GuardedStore => guardedStore(tools, range, at);
  let guard = await change(await ownGuard(source, range.id, held, ['serving']), 'logging');
  const part = { range: range.id, data: dataOf(range), entriesMax };
  const asked = { what: backupDirectory, timers: tools.timers };
  const to = { store: askedMember(target, asked) };
  // While writes wait, each answer has less time.
  const waited = { store: answeringStore(target, asked) };
  const copyDirtyKeys = () => held.guarded(catchUp(from(guard), waited, part));
  const followWrites = async () => {
    const work = { range: range.id, source: from(guard), target: to };
    if (await held.guarded(catchUpClosely(tools, held, work))) return;
    const why = `more than ${dirtyRowsMaxOf(tools)} writes came while it copied`;
    throw new BackupTooSlowError(range.id, why);
  };
  const onPage = (bytes: number): Promise<void> => {
    tools.onCopied?.(bytes);
    return held.betweenPages();
  };
  const copied = { ...part, pagesMax: pagesEach, onPage };
  for (let isMore = true; isMore;) {
    isMore = (await held.guarded(copyPages(from(guard), to, copied))).more;
    if (isMore) await followWrites();
  }
  for (let isOver = false, pauses = 1; !isOver; pauses += 1) {
    if (pauses > pausesMax) {
      throw new BackupTooSlowError(range.id, `writes came between ${pausesMax} pauses of them`);
    }
    await followWrites();
    const beganMs = tools.clock.monotonicMs();
    guard = await change(guard, 'fenced');
    isOver = true;
    while (isOver && (await copyDirtyKeys()) > 0) {
      isOver = tools.clock.monotonicMs() - beganMs <= tools.pauseMillisMax;
    }
    if (!isOver) guard = await change(guard, 'logging');
  }
  const progress = progressKey(range.id);
  await to.store.ingest({ entries: [], deletes: [progress], floor: guard.version });
}

async function serveAgain(tools: OperationTools, held: Held, range: RangeRow): Promise<void> {
  const store = answeringMember(tools, range.store);
  const before = await ownGuard(store, range.id, held, ['serving', 'logging', 'fenced']);
  const state = 'serving';
  const isServing = before.row.state === state;
  const guard = isServing ? before : await changeGuard(store, range, held, { before, state });
  const guarded = guardedStore(tools, range, guard);
  await held.guarded(deleteInSteps(held, guarded, dirtyRows(range.id)));
  await releaseRange(tools, held, range.id);
}
