import type { SimRandom } from '../support/sim-random.js';

/** The unit that a disk writes atomically, unless it is torn. */
export const sectorBytes = 512;

export interface DiskWrite {
  readonly position: number;
  readonly bytes: Uint8Array;
}

/**
 * What may be on the disk of an interrupted write: any of its sectors in any order, some of them
 * only in part.
 */
export function tear(content: Buffer, { position, bytes }: DiskWrite, random: SimRandom): void {
  const fate = random.weighted({ none: 2, all: 2, beginning: 2, end: 2, some: 4 });
  const count = Math.ceil(bytes.length / sectorBytes);
  const cut = random.int(count + 1);
  for (let sector = 0; sector < count; sector += 1) {
    const isWritten = {
      none: false,
      all: true,
      beginning: sector < cut,
      end: sector >= cut,
      some: random.chance(0.5),
    }[fate];
    if (!isWritten) continue;
    const start = sector * sectorBytes;
    const whole = Math.min(sectorBytes, bytes.length - start);
    const isTorn = fate !== 'all' && random.chance(0.1);
    const length = isTorn ? random.int(whole) : whole;
    content.set(bytes.subarray(start, start + length), position + start);
  }
}
