import { unreachable } from '../../src/base/invariant.js';
import { ticksOfVersion } from '../../src/model/edm/date-time.js';
import type { ComparisonOperator, Filter } from '../../src/model/edm/filter.js';
import type { EdmValue, Property } from '../../src/model/edm/value.js';

/** A row with everything decoded. */
export interface PlainRow {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly version: number;
  readonly properties: readonly Property[];
}

/** Whether a filter matches a row, directly from the rules of table-service §5.4. */
export function matches(filter: Filter, row: PlainRow): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.operands.every((operand) => matches(operand, row));
    case 'or':
      return filter.operands.some((operand) => matches(operand, row));
    case 'not':
      return !matches(filter.operand, row);
    case 'constant':
      return filter.value;
    case 'property': {
      const value = valueOf(row, filter.property);
      return value?.type === 'Edm.Boolean' && value.value;
    }
    case 'comparison': {
      const value = valueOf(row, filter.property);
      return value !== undefined && compare(value, filter.operator, filter.literal);
    }
    default:
      return unreachable(filter);
  }
}

function valueOf(row: PlainRow, name: string): EdmValue | undefined {
  switch (name) {
    case 'PartitionKey':
      return { type: 'Edm.String', value: row.partitionKey };
    case 'RowKey':
      return { type: 'Edm.String', value: row.rowKey };
    case 'Timestamp':
      return { type: 'Edm.DateTime', value: ticksOfVersion(row.version) };
    default:
      return row.properties.find((property) => property.name === name)?.value;
  }
}

type Comparable = string | number | bigint | boolean;

function compare(value: EdmValue, operator: ComparisonOperator, literal: EdmValue): boolean {
  if (!isComparable(value, literal)) {
    return operator === 'ne' || operator === 'lt' || operator === 'le';
  }
  const left = plain(value);
  const right = plain(literal);
  switch (operator) {
    case 'eq':
      return equal(left, right);
    case 'ne':
      return !equal(left, right);
    case 'lt':
      return left < right;
    case 'le':
      return left <= right;
    case 'gt':
      return left > right;
    case 'ge':
      return left >= right;
    default:
      return unreachable(operator);
  }
}

function equal(left: Comparable, right: Comparable): boolean {
  // Loose, because an Int32 literal may stand against an Int64 property.
  // oxlint-disable-next-line eqeqeq -- 3 and 3n are equal here
  return left == right;
}

function isComparable(value: EdmValue, literal: EdmValue): boolean {
  if (value.type === literal.type) return true;
  if (value.type === 'Edm.Int64') return literal.type === 'Edm.Int32';
  return (
    value.type === 'Edm.Double' && (literal.type === 'Edm.Int32' || literal.type === 'Edm.Int64')
  );
}

/** A JavaScript value that `<` orders as the service orders the type. */
function plain(value: EdmValue): Comparable {
  return value.type === 'Edm.Binary' ? Buffer.from(value.value).toString('latin1') : value.value;
}
