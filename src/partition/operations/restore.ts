import type { Entry } from '../../kv/store.js';
import { guardKey } from '../keys.js';
import { dataOf } from '../range-map.js';
import type { RangeRow, RestoreRow } from '../rows.js';
import {
  changeGuard,
  heldRange,
  ownGuard,
  releaseRange,
  takeGuard,
  type HeldOperation,
} from './held-operation.js';
import type { MoveEnd } from './move.js';
import { assertRoom } from './room.js';
import { RangeNotEmptyError, type OperationTools } from './tools.js';
import { deleteAll, type GuardedStore } from './transfer.js';

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
  const { range, guarded } = await closed(tools, held);
  const { store, guard } = guarded;
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
    if (!isWhole) await emptied(held, { range, guarded });
    await serveAgain(tools, held, range);
  }
}

/** Ends a restore whose process has died: deletes what it has written. */
export async function undoRestore(tools: OperationTools, held: Held): Promise<MoveEnd> {
  const range = (await heldRange(tools, held, held.row.range)).row;
  const store = tools.members.named(range.store);
  const guard = await takeGuard(tools, held, { store: range.store, range: range.id });
  await held.advance(held.row);
  // In another state nothing was restored yet, and the range may have other entries.
  if (guard?.row.state === 'incoming') {
    const key = guardKey(range.id);
    const guarded = { name: range.store, store, guard: { key, version: guard.version } };
    await emptied(held, { range, guarded });
  }
  await serveAgain(tools, held, range);
  return 'cancelled';
}

interface Closed {
  readonly range: RangeRow;
  readonly guarded: GuardedStore;
}

/** Deletes what was restored. */
function emptied(held: Held, { range, guarded }: Closed): Promise<void> {
  return held.guarded(deleteAll(guarded, dataOf(range), (keys) => held.afterDeletion(keys)));
}

/** Takes the range out of service, and checks that it is empty. */
async function closed(tools: OperationTools, held: Held): Promise<Closed> {
  const range = (await heldRange(tools, held, held.row.range)).row;
  const store = tools.members.named(range.store);
  await takeGuard(tools, held, { store: range.store, range: range.id });
  await held.advance(held.row);
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
  const key = guardKey(range.id);
  const guarded = { name: range.store, store, guard: { key, version: incoming.version } };
  return { range, guarded };
}

async function serveAgain(tools: OperationTools, held: Held, range: RangeRow): Promise<void> {
  const store = tools.members.named(range.store);
  const before = await ownGuard(store, range.id, held, ['serving', 'moved', 'incoming']);
  const state = 'serving';
  if (before.row.state !== state) await changeGuard(store, range, held, { before, state });
  await releaseRange(tools, held, range.id);
}
