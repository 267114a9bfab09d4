import { invariant } from '../../src/base/invariant.js';
import { decodeTuple, encodeTuple } from '../../src/kv/tuple.js';
import type { ContainerKind, ContainerRecord } from '../../src/services/containers/containers.js';
import { recordId } from '../../src/services/containers/record-id.js';

export interface NoteRecord extends ContainerRecord {
  readonly text: string;
}

const noteFormat = 1;

/** A kind of container that no service has, with a name and a text. */
export const noteKind: ContainerKind<NoteRecord> = {
  service: 'note',
  encode: ({ id, name, text }) => encodeTuple([noteFormat, id, name, text]),
  idOf: (value) => recordId(value, noteFormat),
  decode(value) {
    const [, id, name, text] = decodeTuple(value);
    invariant(
      typeof id === 'number' && typeof name === 'string' && typeof text === 'string',
      'a note is malformed',
    );
    return { id, name, text };
  },
};

/** Makes the record of a new note. */
export const note =
  (name: string, text = '') =>
  (id: number): NoteRecord => ({ id, name, text });
