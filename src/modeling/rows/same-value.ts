import { own } from '../../base/own.js';
import { equalBytes } from '../../base/bytes.js';
import type { Row, WireValue } from './row.js';

/** Whether two stored values are the same: type and value, NaN and -0 told apart like any other. */
export function sameValue(left: WireValue, right: WireValue): boolean {
  if (left.type === 'Binary' && right.type === 'Binary') return equalBytes(left.value, right.value);
  return left.type === right.type && Object.is(left.value, right.value);
}

/** Whether a row has every property of another, with the same values. */
export function sameProperties(part: Row, whole: Row): boolean {
  return Object.entries(part.properties).every(([name, wire]) => {
    const found = own(whole.properties, name);
    return found !== undefined && sameValue(wire, found);
  });
}
