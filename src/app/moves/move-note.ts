import { storeKey } from '../../kv/partition-prefix.js';
import type { Put, Store } from '../../kv/store.js';

/** The note in a source from just before its copy takes over. */
export interface MoveNote {
  /** The location of the copy; the text also identifies it. */
  readonly to: string;
  /** Whether the copy has taken over for certain. If false, it may or may not have. */
  readonly isOver: boolean;
}

/** The key of the note. No server accepts a source that has it. */
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
    'tabularium migrate --from this directory --to that location; or take the data back: the same ' +
    'with --cancel.'
  );
}
