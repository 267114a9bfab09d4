/** All data have moved to another location; nothing is read or written here any more. */
export class MovedError extends Error {
  override readonly name = 'MovedError';

  /** `location`: the new location, as people read it. */
  constructor(location: string) {
    super(`All data have moved to ${location}, and servers there have them.`);
  }
}
