import type { Members } from '../members.js';
import { GivenUpError } from './tools.js';

/** The disk of a store has only its reserve left, which cancelling and deleting need. */
export class NoRoomError extends GivenUpError {
  override readonly name = 'NoRoomError';

  constructor(store: string) {
    super(
      `The disk of the store '${store}' is full but for a reserve, so what was copied there is ` +
        'deleted again. Make room there, or choose another store.',
    );
  }
}

/** Throws `NoRoomError` when a store should get no more data. */
export async function assertRoom(members: Members, store: string): Promise<void> {
  if (!(await members.hasRoom(store))) throw new NoRoomError(store);
}
