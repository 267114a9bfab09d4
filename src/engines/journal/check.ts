import { messageOf } from '../../base/thrown.js';
import { appliedOf, noteKey } from './base-note.js';
import { DiskFiles } from './disk-files.js';
import type { Change } from './frame-change.js';
import { lastChanges } from './left-changes.js';
import { recover } from './recovery.js';

export { noteKey } from './base-note.js';

export interface JournalReport {
  /** Frames that are intact and whose changes the data file may lack. */
  readonly frames: number;
  /** What they make of each key, in the order of the keys. */
  readonly changes: readonly Change[];
  /** Why the next start would refuse it; undefined when it would not. */
  readonly damage: string | undefined;
}

/**
 * Reads what a server that did not end in order has left of its journal, and changes nothing.
 * `note`: what the data file has at `noteKey`. Undefined where no journal is, nor should be.
 */
export async function checkJournal(
  directory: string,
  note: Uint8Array | undefined,
): Promise<JournalReport | undefined> {
  try {
    const entry = note && { key: noteKey, value: note, version: 1 };
    const applied = appliedOf(entry);
    const files = new DiskFiles({ directory, sync: true });
    if (applied.isSettled && !(await files.isPresent())) return undefined;
    const { frames } = await recover(files, applied);
    return { frames: frames.length, changes: lastChanges(frames), damage: undefined };
  } catch (error) {
    return { frames: 0, changes: [], damage: messageOf(error) };
  }
}
