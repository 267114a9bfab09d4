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
import { openSource, openTarget } from '../../open-place.js';
import { shownPlace, type MigrationPlace, type MigrationStore } from '../places.js';

// A source whose server ended during the last step of a move, and how to go on.

interface Move {
  readonly source: Store;
  readonly target: MigrationStore;
  readonly from: MigrationPlace;
  readonly to: MigrationPlace;
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
  const place = shownPlace(to);
  if (note.to !== place) {
    throw new MigrationError(`${shownPlace(from)}: ${moveNoteText(note)} Nothing was changed.`);
  }
  if (note.isOver || (await hasTakenOver(target))) {
    await noteMoved(source, to);
    throw new MigrationError(
      `${place} has taken over already: servers may use it. Nothing was left to do.`,
    );
  }
  return note;
}

/** Notes in the source that its data have moved to the target. */
export async function noteMoved(source: Store, to: MigrationPlace): Promise<void> {
  const note = moveNotePut({ to: shownPlace(to), isOver: true });
  await source.commit({ checks: [], puts: [note], deletes: [] });
}

/**
 * Makes a source usable again whose move was interrupted, when the target has not taken over.
 * Throws `MigrationError`, and the errors of opening a place.
 */
export async function takeBack(from: MigrationPlace, to: MigrationPlace): Promise<void> {
  const source = await openSource(from);
  try {
    const note = await moveNoteOf(source);
    if (note === undefined) {
      throw new MigrationError(`${shownPlace(from)} has its data: there is nothing to take back.`);
    }
    if (note.to !== shownPlace(to)) {
      throw new MigrationError(
        `The data of ${shownPlace(from)} were to move to ${note.to}, not to ${shownPlace(to)}.`,
      );
    }
    const target = await openTarget(to);
    try {
      if (await hasTakenOver(target)) {
        throw new MigrationError(
          `${shownPlace(to)} has taken over: what ${shownPlace(from)} has is old. The way back is a ` +
            'migration from there to an empty place.',
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
