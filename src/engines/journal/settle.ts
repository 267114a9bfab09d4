import { appliedOf, noteKey } from './base-note.js';
import { smallFileBytes } from './journal.js';
import { defaultJournalLimits } from './journal-limits.js';
import { openJournaledStore, type JournalBase, type JournaledStoreOptions } from './store.js';

/** Whether the base may lack commits that are in a journal, one in use or one left by a crash. */
export async function isJournaled(base: Pick<JournalBase, 'get'>): Promise<boolean> {
  return !appliedOf(await base.get(noteKey)).isSettled;
}

/**
 * Applies the journal of a base completely and removes it. Takes little time when there is none.
 */
export async function settleJournal(options: JournaledStoreOptions): Promise<void> {
  const { isSettled } = appliedOf(await options.base.get(noteKey));
  const generations = await options.files.retire();
  if (isSettled && generations.length === 0) return;
  const { limits = defaultJournalLimits } = options;
  // Small files, because nothing is written to them and the disk may be full.
  const small = { ...limits, fileBytes: smallFileBytes };
  const store = await openJournaledStore({ ...options, limits: small });
  await store.settle();
}
