import type { Bytes } from '../../../base/bytes.js';

/** The owner of a data directory, as recorded in its environment. A `token` is never reused. */
export interface Owner {
  readonly token: string;
  readonly pid: number;
  readonly started: string;
  readonly socket: string;
  /**
   * When this owner took the data file, it had been read completely or closed in order by the
   * previous owner; and each commit of this owner is synced.
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
 * Whether the owner left the data file of this identity in a sound state, so that only the disk
 * itself can have damaged it. A copy names a sound owner too, and may be torn when it was made
 * while that owner wrote.
 */
export function wasSound(record: Bytes, file: string): boolean {
  const owner = parseOwner(record);
  return owner?.isSound === true && owner.file === file;
}
