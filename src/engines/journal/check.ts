import { messageOf } from '../../base/thrown.js';
import { appliedOf, noteKey } from './base-note.js';
import { DiskFiles } from './disk-files.js';
import type { Change } from './frame-change.js';
import { lastChanges } from './left-changes.js';
import { recover, type RecoveryOptions } from './recovery.js';

export { noteKey } from './base-note.js';

export interface JournalReport {
  /** The number of intact frames whose changes the data file may lack. */
  readonly frames: number;
  /** The last change of each key in these frames, in key order. */
  readonly changes: readonly Change[];
  /** Why the next start would refuse the journal; undefined when it would accept it. */
  readonly damage: string | undefined;
}

/**
 * Reads the journal that a crashed server has left, and changes nothing. `note`: the value at
 * `noteKey` in the data file. Returns undefined when there is no journal and none is expected.
 * `onRead`: called with the number of files that have been read, after each.
 */
export async function checkJournal(
  directory: string,
  note: Uint8Array | undefined,
  onRead?: RecoveryOptions['onRead'],
): Promise<JournalReport | undefined> {
  try {
    const entry = note && { key: noteKey, value: note, version: 1 };
    const applied = appliedOf(entry);
    const files = new DiskFiles({ directory, sync: true });
    if (applied.isSettled && !(await files.isPresent())) return undefined;
    const { frames } = await recover(files, applied, { onRead });
    return { frames: frames.length, changes: lastChanges(frames), damage: undefined };
  } catch (error) {
    return { frames: 0, changes: [], damage: messageOf(error) };
  }
}
