import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { extentBytesMax, ownerBytesMax, type ExtentId } from './content-store.js';

export function assertOwner(owner: Bytes): void {
  invariant(
    owner.length <= ownerBytesMax,
    `an owner has 0 to ${ownerBytesMax} bytes, not ${owner.length}`,
  );
}

export function assertExtentBytes(bytes: number): void {
  invariant(bytes <= extentBytesMax, `an extent has at most ${extentBytesMax} bytes`);
}

export function assertRange(id: ExtentId, bytes: number, start: number, end: number): void {
  invariant(
    Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= bytes,
    `bytes ${start} to ${end} are not within the ${bytes} bytes of extent ${id}`,
  );
}
