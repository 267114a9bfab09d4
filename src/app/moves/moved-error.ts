/** All data have moved to another location, so this store refuses reads and writes. */
export class MovedError extends Error {
  override readonly name = 'MovedError';

  /** `location`: the new location, as people read it. */
  constructor(location: string) {
    super(`All data have moved to ${location}, and servers there have them.`);
  }
}
