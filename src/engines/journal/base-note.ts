import { StoreDamagedError } from '../../kv/errors.js';
import { storeKey } from '../../kv/partition-prefix.js';
import type { Entry } from '../../kv/store.js';
import type { GenerationId } from './file-head.js';
import { readWhole, writeWhole } from './whole-number.js';

/** The content of the note: how far the journal was applied to the base. */
export interface Applied extends GenerationId {
  /** The base has the changes of all frames up to this one. */
  readonly sequence: number;
  /** The file of the last generation which has that frame; its first file, if none has. */
  readonly file: number;
  /** The last generation was closed properly, so there need not be a journal. */
  readonly isSettled: boolean;
}

/** The key of the note: the record in the base of how far the journal was applied. */
export const noteKey = storeKey('journal');

const noteBytes = 32;
const [sequenceAt, generationAt, settledAt, secretAt, fileAt] = [0, 8, 16, 20, 24];

/** The note as an entry. It is written in the same transaction as the changes that it counts. */
export function noteEntry({
  sequence,
  generation,
  file,
  secret,
  isSettled = false,
}: Omit<Applied, 'isSettled'> & Partial<Applied>): Entry {
  const value = Buffer.alloc(noteBytes);
  writeWhole(value, sequence, sequenceAt);
  writeWhole(value, generation, generationAt);
  value.writeUInt32LE(isSettled ? 1 : 0, settledAt);
  value.writeUInt32LE(secret, secretAt);
  writeWhole(value, file, fileAt);
  // The version of the note is not used.
  return { key: noteKey, value, version: 1 };
}

/** Decodes the note. A base without one has never had a journal. */
export function appliedOf(note: Entry | undefined): Applied {
  if (note === undefined)
    return { sequence: 0, generation: 0, file: 0, secret: 0, isSettled: true };
  const value = Buffer.from(note.value);
  if (value.length !== noteBytes) {
    throw new StoreDamagedError('What the data say of their journal is not what was written.');
  }
  return {
    sequence: readWhole(value, sequenceAt),
    generation: readWhole(value, generationAt),
    isSettled: value.readUInt32LE(settledAt) === 1,
    secret: value.readUInt32LE(secretAt),
    file: readWhole(value, fileAt),
  };
}
