import { unreachable } from '../../base/invariant.js';
import type { RowKey, WireValue } from '../rows/row.js';
import { ValueError } from '../rows/model-error.js';
import { isoOfTicks } from '../rows/ticks.js';

/** Literals and comparisons of the service's filters (OData). */

/** A text as a literal: quoted, quotes inside doubled. */
export function odataString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * A value as a literal. A Double that is whole is written with a fraction, because the service
 * compares an Int64 or Double property with a literal of its own type or a narrower one only.
 * Throws `ValueError` for NaN and the infinities, which have no literal.
 */
export function odataLiteral(wire: WireValue): string {
  switch (wire.type) {
    case 'String':
      return odataString(wire.value);
    case 'Int32':
    case 'Boolean':
      return String(wire.value);
    case 'Int64':
      return `${wire.value}L`;
    case 'Double':
      return odataDouble(wire.value);
    case 'Guid':
      return `guid'${wire.value}'`;
    case 'Binary':
      return `X'${Buffer.from(wire.value).toString('hex')}'`;
    case 'DateTime':
      return `datetime'${isoOfTicks(wire.value)}'`;
    default:
      return unreachable(wire);
  }
}

function odataDouble(value: number): string {
  if (!Number.isFinite(value)) throw new ValueError(`${value} cannot be compared with in a filter`);
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** The filter of one row. */
export function odataKey({ partitionKey, rowKey }: RowKey): string {
  return `PartitionKey eq ${odataString(partitionKey)} and RowKey eq ${odataString(rowKey)}`;
}
