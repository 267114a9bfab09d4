import type { Entry } from '../../kv/store.js';
import { guardKey } from '../keys.js';
import { dataOf } from '../range-map.js';
import { answeringMember, type AskedMember } from '../reach.js';
import type { GuardRow, RangeRow, RestoreRow, Versioned } from '../rows.js';
import {
  changeGuard,
  heldRange,
  ownGuard,
  releaseRange,
  takeGuardInTime,
  type HeldOperation,
} from './held-operation.js';
import { assertRoom } from './room.js';
import { RangeNotEmptyError, type OperationTools, type OperationEnd } from './tools.js';
import { deleteInSteps, guardedStore, type GuardedStore } from './transfer.js';

type Held = HeldOperation<RestoreRow>;

/** The entries of a backup, page by page in the order of their keys. */
export interface RestoreSource {
  readonly pages: AsyncIterable<readonly Entry[]>;
  /** Versions of later commits exceed it. */
  readonly floor: number;
}

/**
 * Writes entries with their versions into an empty range, which is not served meanwhile. After a
 * failure the range is empty again. Throws `RangeNotEmptyError`, and `NoRoomError`.
 */
export async function restore(
  tools: OperationTools,
  held: Held,
  { pages, floor }: RestoreSource,
): Promise<void> {
  const { range, store, incoming } = await closed(tools, held);
  const { guard } = guardedStore(tools, range, incoming);
  let isWhole = false;
  try {
    for await (const entries of pages) {
      await held.guarded(store.ingest({ entries, deletes: [], floor, guard }));
      await assertRoom(tools.members, range.store);
      tools.onCopied?.(entries.reduce((sum, { key, value }) => sum + key.length + value.length, 0));
      await held.renew();
    }
    isWhole = true;
  } finally {
    if (!isWhole) {
      // A page whose outcome is unknown is not applied after this.
      const state = 'incoming';
      const alone = await changeGuard(store, range, held, { before: incoming, state });
      await emptied(held, { range, guarded: guardedStore(tools, range, alone) });
    }
    await serveAgain(tools, held, range);
  }
}

/** Ends a restore whose process has died: deletes what it has written. */
export async function undoRestore(tools: OperationTools, held: Held): Promise<OperationEnd> {
  const range = (await heldRange(tools, held, held.row.range)).row;
  const guard = await takeGuardInTime(tools, held, { store: range.store, range: range.id });
  // In another state nothing was restored yet, and the range may have other entries.
  if (guard?.row.state === 'incoming') {
    await emptied(held, { range, guarded: guardedStore(tools, range, guard) });
  }
  await serveAgain(tools, held, range);
  return 'cancelled';
}

interface Closed {
  readonly range: RangeRow;
  readonly store: AskedMember;
  readonly incoming: Versioned<GuardRow>;
}

/** Deletes what was restored. */
function emptied(
  held: Held,
  { range, guarded }: { readonly range: RangeRow; readonly guarded: GuardedStore },
): Promise<void> {
  return held.guarded(deleteInSteps(held, guarded, dataOf(range)));
}

/** Takes the range out of service, and checks that it is empty. */
async function closed(tools: OperationTools, held: Held): Promise<Closed> {
  const range = (await heldRange(tools, held, held.row.range)).row;
  const store = answeringMember(tools, range.store);
  await takeGuardInTime(tools, held, { store: range.store, range: range.id });
  const before = await ownGuard(store, range.id, held, ['serving']);
  // A commit that was under way before this fence may have written; the read below finds that.
  const guard = await changeGuard(store, range, held, { before, state: 'moved' });
  const { entries } = await store.range(dataOf(range), {
    limit: 1,
    bytesMax: 1,
    guard: { key: guardKey(range.id), version: guard.version },
  });
  if (entries.length > 0) {
    await serveAgain(tools, held, range);
    throw new RangeNotEmptyError(range.id);
  }
  const incoming = await changeGuard(store, range, held, { before: guard, state: 'incoming' });
  return { range, store, incoming };
}

async function serveAgain(tools: OperationTools, held: Held, range: RangeRow): Promise<void> {
  const store = answeringMember(tools, range.store);
  const before = await ownGuard(store, range.id, held, ['serving', 'moved', 'incoming']);
  const state = 'serving';
  if (before.row.state !== state) await changeGuard(store, range, held, { before, state });
  await releaseRange(tools, held, range.id);
}
