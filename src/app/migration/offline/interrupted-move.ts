import type { Store } from '../../../kv/store.js';
import { renewCopy } from '../../moves/copy-state.js';
import { MigrationError } from '../migration-error.js';
import {
  moveNoteKey,
  moveNoteOf,
  moveNotePut,
  moveNoteText,
  type MoveNote,
} from '../../moves/move-note.js';
import { openSource, openTarget } from '../../open-location.js';
import { shownLocation, type DataLocation, type MigrationStore } from '../data-location.js';

// A source whose server ended during the last step of a move, and how to go on.

interface Move {
  readonly source: Store;
  readonly target: MigrationStore;
  readonly from: DataLocation;
  readonly to: DataLocation;
}

/**
 * Returns the note that an interrupted move has left in the source; undefined when there is none.
 * Throws `MigrationError` when the data have moved already.
 */
export async function assertMayMove({
  source,
  target,
  from,
  to,
}: Move): Promise<MoveNote | undefined> {
  const note = await moveNoteOf(source);
  if (note === undefined) return undefined;
  const location = shownLocation(to);
  if (note.to !== location) {
    throw new MigrationError(`${shownLocation(from)}: ${moveNoteText(note)} Nothing was changed.`);
  }
  if (note.isOver || (await hasTakenOver(target))) {
    await noteMoved(source, to);
    throw new MigrationError(
      `${location} has taken over already: servers may use it. Nothing was left to do.`,
    );
  }
  return note;
}

/** Notes in the source that its data have moved to the target. */
export async function noteMoved(source: Store, to: DataLocation): Promise<void> {
  const note = moveNotePut({ to: shownLocation(to), isOver: true });
  await source.commit({ checks: [], puts: [note], deletes: [] });
}

/**
 * Makes a source usable again whose move was interrupted, when the target has not taken over.
 * Throws `MigrationError`, and the errors of opening a location.
 */
export async function takeBack(from: DataLocation, to: DataLocation): Promise<void> {
  const source = await openSource(from);
  try {
    const note = await moveNoteOf(source);
    if (note === undefined) {
      throw new MigrationError(
        `${shownLocation(from)} has its data: there is nothing to take back.`,
      );
    }
    if (note.to !== shownLocation(to)) {
      throw new MigrationError(
        `The data of ${shownLocation(from)} were to move to ${note.to}, not to ${shownLocation(to)}.`,
      );
    }
    const target = await openTarget(to);
    try {
      if (await hasTakenOver(target)) {
        throw new MigrationError(
          `${shownLocation(to)} has taken over: what ${shownLocation(from)} has is old. The way back is a ` +
            'migration from there to an empty location.',
        );
      }
    } finally {
      await target.close();
    }
    await source.commit({ checks: [], puts: [], deletes: [moveNoteKey] });
  } finally {
    await source.close();
  }
}

/**
 * True when the target is a complete copy: not marked unfinished, and it has data or once had.
 * When this is false, writes that are still under way can no longer complete the copy.
 */
async function hasTakenOver(target: MigrationStore): Promise<boolean> {
  return !(await renewCopy(target)) && (await target.lastVersion()) > 0;
}
