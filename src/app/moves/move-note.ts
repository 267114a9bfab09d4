import { storeKey } from '../../kv/partition-prefix.js';
import type { Put, Store } from '../../kv/store.js';

/** What a source says of its data, from the moment on in which their copy is to take over. */
export interface MoveNote {
  /** Where the copy is, for people, and to know it again. */
  readonly to: string;
  /** The copy has taken over. Otherwise nobody has asked it yet: it may have, or not. */
  readonly isOver: boolean;
}

/** The key of the note. Nobody serves a source that has it. */
export const moveNoteKey = storeKey('moved');

export async function moveNoteOf(store: Pick<Store, 'get'>): Promise<MoveNote | undefined> {
  const entry = await store.get(moveNoteKey);
  return entry && (JSON.parse(Buffer.from(entry.value).toString()) as MoveNote);
}

export function moveNotePut(note: MoveNote): Put {
  return { key: moveNoteKey, value: Buffer.from(JSON.stringify(note)) };
}

/** Why a source with the note cannot be served, and what to do. */
export function moveNoteText({ to, isOver }: MoveNote): string {
  if (isOver) {
    return `All data have moved to ${to}: start servers there. What is here is what they were then.`;
  }
  return (
    `All data were moving to ${to} when the server ended, at the very end of the move. Finish it: ` +
    'tabularium migrate --from this directory --to that place; or take the data back: the same ' +
    'with --cancel.'
  );
}
