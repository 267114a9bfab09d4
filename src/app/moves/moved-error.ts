/** All data have moved to another place; nothing is read or written here any more. */
export class MovedError extends Error {
  override readonly name = 'MovedError';

  /** `place`: the new place, as people read it. */
  constructor(place: string) {
    super(`All data have moved to ${place}, and servers there have them.`);
  }
}
