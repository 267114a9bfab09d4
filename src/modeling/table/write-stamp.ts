import { own } from '../../base/own.js';
import type { Randomness } from '../../base/randomness.js';
import type { Row, WireValue } from '../rows/row.js';

/**
 * A write stamp: the ids of the last writes of a row, newest first, in one property. The official
 * client repeats a request whose response was lost, and then gets the 409 or 412 that its own
 * success caused; the id in the row shows that the write was applied. Older ids are kept, so that
 * the next writer does not remove an id that is still looked for.
 */

const idsMax = 4;
const seriesBytes = 8;

interface Series {
  readonly name: string;
  count: number;
}

/** Random bytes are drawn once for each source; ids then count on. */
const seriesOf = new WeakMap<Randomness, Series>();

/** A unique id for a write. */
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

/** The row with the id of a write before its earlier ones. */
export function stamped(row: Row, property: string | undefined, stamp: string): Row {
  if (property === undefined) return row;
  const wire = stampAfter(own(row.properties, property), stamp);
  return { ...row, properties: { ...row.properties, [property]: wire } };
}

/** The value of a write stamp: the id of this write before the earlier ones. */
export function stampAfter(earlier: WireValue | undefined, stamp: string): WireValue {
  if (earlier === undefined) return { type: 'String', value: stamp };
  const ids = idsOf(earlier).slice(0, idsMax - 1);
  return { type: 'String', value: [stamp, ...ids].join(' ') };
}

/** Whether the row carries the id of one of the writes. */
export function hasStamp(
  row: Row,
  property: string | undefined,
  stamps: readonly string[],
): boolean {
  if (property === undefined) return false;
  const ids = idsOf(own(row.properties, property));
  return stamps.some((stamp) => ids.includes(stamp));
}
