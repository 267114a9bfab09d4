/** All data are in another place by now: nothing is read or written here any more. */
export class MovedError extends Error {
  override readonly name = 'MovedError';

  /** `place`: where they are, for people. */
  constructor(place: string) {
    super(`All data have moved to ${place}, and servers there have them.`);
  }
}
