import type { MemberDisk } from '../../src/partition/members.js';

/** A disk of a store that has only its reserve left as long as `isLow` says so. */
export function memberDisk(isLow: () => boolean | Promise<boolean>): MemberDisk {
  const look = () => Promise.resolve(isLow());
  return { isLow: true, isStillLow: look, isLowNow: look };
}
