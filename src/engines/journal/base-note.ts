import { StoreDamagedError } from '../../kv/errors.js';
import { storeKey } from '../../kv/partition-prefix.js';
import type { Entry } from '../../kv/store.js';
import type { Applied } from './recovery.js';
import { readWhole, writeWhole } from './whole-number.js';

/** Where the base keeps what it knows of the journal before it. */
export const noteKey = storeKey('journal');

const noteBytes = 16;

/** The base gets it together with the entries that it is about. */
export function noteEntry({ sequence, generation }: Applied): Entry {
  const value = Buffer.alloc(noteBytes);
  writeWhole(value, sequence, 0);
  writeWhole(value, generation, 8);
  // Nobody reads its version.
  return { key: noteKey, value, version: 1 };
}

/** What a base says that has a note, or has never been behind a journal. */
export function appliedOf(note: Entry | undefined): Applied {
  if (note === undefined) return { sequence: 0, generation: 0 };
  const value = Buffer.from(note.value);
  if (value.length !== noteBytes) {
    throw new StoreDamagedError('What the data say of their journal is not what was written.');
  }
  return { sequence: readWhole(value, 0), generation: readWhole(value, 8) };
}
