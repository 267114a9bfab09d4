import { own } from '../../base/own.js';
import type { Randomness } from '../../base/randomness.js';
import type { Row, WireValue } from '../rows/row.js';

/**
 * Ids of the last writes of a row, the newest first, in one property. The official client repeats a
 * request whose answer was lost, and then gets the 409 or 412 that its own success has caused.
 * Whoever finds the id of the write in the row knows that it was applied. Older ids are kept, so
 * that the next writer does not wipe out what the last one still has to find.
 */

const idsMax = 4;
const seriesBytes = 8;

interface Series {
  readonly name: string;
  count: number;
}

/** Chance is asked once for a source of it; ids then count on. */
const seriesOf = new WeakMap<Randomness, Series>();

/** An id that no other write has. */
export function newStamp(randomness: Randomness): string {
  let series = seriesOf.get(randomness);
  if (series === undefined) {
    const name = Buffer.from(randomness.bytes(seriesBytes)).toString('base64url');
    series = { name, count: 0 };
    seriesOf.set(randomness, series);
  }
  series.count += 1;
  return series.name + series.count.toString(36);
}

function idsOf(wire: WireValue | undefined): readonly string[] {
  return wire?.type === 'String' && wire.value !== '' ? wire.value.split(' ') : [];
}

/** The row with the id of this write in front of those that it had. */
export function stamped(row: Row, property: string | undefined, stamp: string): Row {
  if (property === undefined) return row;
  const wire = stampAfter(own(row.properties, property), stamp);
  return { ...row, properties: { ...row.properties, [property]: wire } };
}

/** The value of a write stamp: the id of this write in front of those that were there. */
export function stampAfter(earlier: WireValue | undefined, stamp: string): WireValue {
  if (earlier === undefined) return { type: 'String', value: stamp };
  const ids = idsOf(earlier).slice(0, idsMax - 1);
  return { type: 'String', value: [stamp, ...ids].join(' ') };
}

/** Whether one of the writes was applied to the row as it is now. */
export function hasStamp(
  row: Row,
  property: string | undefined,
  stamps: readonly string[],
): boolean {
  if (property === undefined) return false;
  const ids = idsOf(own(row.properties, property));
  return stamps.some((stamp) => ids.includes(stamp));
}
