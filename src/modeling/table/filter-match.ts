import { unreachable } from '../../base/invariant.js';
import { own } from '../../base/own.js';
import { compareBytes } from '../../base/bytes.js';
import type { RowProperties, WireValue } from '../rows/row.js';
import type { Comparison, FilterNode } from './filter-node.js';

/** Whether the properties of a row satisfy a condition, as the service would find. */
export function satisfies(node: FilterNode, properties: RowProperties): boolean {
  switch (node.kind) {
    case 'compare': {
      const found = own(properties, node.name);
      if (found === undefined) return node.ifAbsent;
      return holds(node.operator, found, node.value);
    }
    case 'and':
      return node.parts.every((part) => satisfies(part, properties));
    case 'or':
      return node.parts.some((part) => satisfies(part, properties));
    case 'not':
      return !satisfies(node.part, properties);
    default:
      return unreachable(node);
  }
}

/** The result of a comparison; false for values of different types, and for NaN. */
export function holds(operator: Comparison, left: WireValue, right: WireValue): boolean {
  const order = orderOf(left, right);
  if (order === undefined) return false;
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'gt':
      return order > 0;
    case 'ge':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'le':
      return order <= 0;
    default:
      return unreachable(operator);
  }
}

/** Undefined when the values have no order. */
function orderOf(left: WireValue, right: WireValue): number | undefined {
  if (left.type === 'Binary' && right.type === 'Binary') {
    return compareBytes(left.value, right.value);
  }
  if (left.type !== right.type) return undefined;
  if (left.value < right.value) return -1;
  if (left.value > right.value) return 1;
  return left.value === right.value ? 0 : undefined;
}
