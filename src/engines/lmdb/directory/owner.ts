import type { Bytes } from '../../../base/bytes.js';

/** The owner of a data directory, as recorded in its environment. A `token` is never reused. */
export interface Owner {
  readonly token: string;
  readonly pid: number;
  readonly started: string;
  readonly socket: string;
  /**
   * The data file was read completely, or closed in order by the owner before, when this one took
   * it; and each of its commits is synced.
   */
  readonly isSound?: boolean;
  /** The identity of the data file that this owner has open. A copy of it has another one. */
  readonly file: string;
}

export function recordOf(owner: Owner): Bytes {
  return Buffer.from(JSON.stringify(owner));
}

export function parseOwner(bytes: Bytes | undefined): Owner | undefined {
  if (bytes === undefined) return undefined;
  // The record is written in a transaction, so it is never partial.
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as Owner;
}

/**
 * Whether nothing but what the disk has changed by itself can be wrong behind this owner, in the
 * data file of this identity. A copy names a sound owner too, and may be torn when it was made
 * while that owner wrote.
 */
export function wasSound(record: Bytes, file: string): boolean {
  const owner = parseOwner(record);
  return owner?.isSound === true && owner.file === file;
}
