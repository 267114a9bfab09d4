import { unreachable } from '../../src/base/invariant.js';
import type { SimRandom } from '../support/sim-random.js';
import { compare, entityStamp, type ModelEntity } from './model.js';
import { simTypes, simValueOf, stringValue, withFraction, type SimValue } from './values.js';

export type Operator = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';

/** A filter as the simulation represents it. */
export type SimFilter =
  | {
      readonly kind: 'compare';
      readonly name: string;
      readonly operator: Operator;
      readonly literal: SimValue;
    }
  | { readonly kind: 'bare'; readonly name: string }
  | { readonly kind: 'and' | 'or'; readonly left: SimFilter; readonly right: SimFilter }
  | { readonly kind: 'not'; readonly inner: SimFilter };

const operators: readonly Operator[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];
const mirrored: Readonly<Record<Operator, Operator>> = {
  eq: 'eq',
  ne: 'ne',
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
};

export interface FilterPools {
  readonly partitionKeys: readonly string[];
  readonly rowKeys: readonly string[];
  readonly names: readonly string[];
  /** Former timestamps of entities. */
  readonly stamps: readonly string[];
}

export function anyFilter(random: SimRandom, pools: FilterPools, depth = 3): SimFilter {
  const kind = random.weighted({
    key: 8,
    value: 5,
    stamp: pools.stamps.length > 0 ? 1 : 0,
    bare: 1,
    point: 2,
    both: depth > 0 ? 8 : 0,
    not: depth > 0 ? 3 : 0,
  });
  switch (kind) {
    case 'key':
      return keyComparison(random, pools, random.chance(0.6) ? 'PartitionKey' : 'RowKey');
    case 'value':
      return {
        kind: 'compare',
        name: random.pick(pools.names),
        operator: random.pick(operators),
        literal: literalValue(random),
      };
    case 'stamp':
      return {
        kind: 'compare',
        name: 'Timestamp',
        operator: random.pick(operators),
        literal: stampValue(random.pick(pools.stamps)),
      };
    case 'bare':
      return { kind: 'bare', name: random.pick(pools.names) };
    case 'point':
      return {
        kind: 'and',
        left: { ...keyComparison(random, pools, 'PartitionKey'), operator: 'eq' },
        right: keyComparison(random, pools, 'RowKey'),
      };
    case 'both':
      return {
        kind: random.chance(0.5) ? 'and' : 'or',
        left: anyFilter(random, pools, depth - 1),
        right: anyFilter(random, pools, depth - 1),
      };
    case 'not':
      return { kind: 'not', inner: anyFilter(random, pools, depth - 1) };
    default:
      return unreachable(kind);
  }
}

function keyComparison(random: SimRandom, pools: FilterPools, name: 'PartitionKey' | 'RowKey') {
  const keys = name === 'PartitionKey' ? pools.partitionKeys : pools.rowKeys;
  const operator = random.chance(0.4) ? 'eq' : random.pick(operators);
  const literal = stringValue(random, random.pick(keys));
  return { kind: 'compare', name, operator, literal } as const;
}

/** A lone surrogate cannot be encoded in a URL; everything else can. */
function literalValue(random: SimRandom): SimValue {
  for (;;) {
    const value = simValueOf(random, random.pick(simTypes));
    const { comparable } = value;
    const isWritable =
      typeof comparable === 'string'
        ? comparable.length < 500 && !/\p{Cs}/u.test(comparable)
        : typeof comparable !== 'number' || Number.isFinite(comparable);
    if (isWritable) return value;
  }
}

function stampValue(stamp: string): SimValue {
  return {
    type: 'Edm.DateTime',
    comparable: stamp,
    sent: '',
    annotateSent: true,
    text: `${stamp}Z`,
  };
}

/** Whether an entity matches, by the rules of table-service §5.4. */
export function matches(filter: SimFilter, entity: ModelEntity): boolean {
  switch (filter.kind) {
    case 'and':
      return matches(filter.left, entity) && matches(filter.right, entity);
    case 'or':
      return matches(filter.left, entity) || matches(filter.right, entity);
    case 'not':
      return !matches(filter.inner, entity);
    case 'bare':
      return entity.properties.get(filter.name)?.comparable === true;
    case 'compare':
      return compareOne(filter.operator, operandOf(entity, filter.name), filter.literal);
    default:
      return unreachable(filter);
  }
}

type Operand = Pick<SimValue, 'type' | 'comparable'>;

function operandOf(entity: ModelEntity, name: string): Operand | undefined {
  if (name === 'PartitionKey') return { type: 'Edm.String', comparable: entity.partitionKey };
  if (name === 'RowKey') return { type: 'Edm.String', comparable: entity.rowKey };
  if (name === 'Timestamp') return { type: 'Edm.DateTime', comparable: entityStamp(entity) };
  return entity.properties.get(name);
}

function compareOne(operator: Operator, value: Operand | undefined, literal: SimValue): boolean {
  if (value === undefined) return false;
  if (!widens(literal.type, value.type)) return ['ne', 'lt', 'le'].includes(operator);
  // For NaN `order` is NaN, so every comparison but `ne` is false.
  const order = compare(value.comparable, literal.comparable);
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'lt':
      return order < 0;
    case 'le':
      return order <= 0;
    case 'gt':
      return order > 0;
    case 'ge':
      return order >= 0;
    default:
      return unreachable(operator);
  }
}

/** The literal may be widened to the type of the property, but not the other way round. */
function widens(from: string, to: string): boolean {
  if (from === to) return true;
  const numbers = ['Edm.Int32', 'Edm.Int64', 'Edm.Double'];
  return (
    numbers.includes(from) && numbers.includes(to) && numbers.indexOf(from) < numbers.indexOf(to)
  );
}

/** The filter as text, in a random spelling. */
export function filterText(random: SimRandom, filter: SimFilter): string {
  switch (filter.kind) {
    case 'bare':
      return filter.name;
    case 'not':
      return `not ${spaced(random, filterText(random, filter.inner))}`;
    case 'compare': {
      const { name, operator, literal } = filter;
      const text = literalText(random, literal);
      return random.chance(0.9)
        ? `${name} ${operator} ${text}`
        : `${text} ${mirrored[operator]} ${name}`;
    }
    case 'and':
    case 'or': {
      const [left, right] = [filter.left, filter.right].map((side) =>
        sideText(random, side, filter.kind),
      );
      return `${left} ${filter.kind} ${right}`;
    }
    default:
      return unreachable(filter);
  }
}

/** Adds the required parentheses, and sometimes others. */
function sideText(random: SimRandom, side: SimFilter, within: 'and' | 'or'): string {
  const text = filterText(random, side);
  const needed = within === 'and' && side.kind === 'or';
  return needed || random.chance(0.5) ? spaced(random, text) : text;
}

function spaced(random: SimRandom, text: string): string {
  return random.chance(0.1) ? `( ${text} )` : `(${text})`;
}

function literalText(random: SimRandom, { type, comparable, text = '' }: SimValue): string {
  switch (type) {
    case 'Edm.String':
      return `'${String(comparable).replaceAll("'", "''")}'`;
    case 'Edm.Int32':
    case 'Edm.Boolean':
      return String(comparable);
    case 'Edm.Int64':
      return `${comparable}L`;
    case 'Edm.Double':
      return withFraction(Number(comparable)).replace('+', '');
    case 'Edm.DateTime':
      return `datetime'${text}'`;
    case 'Edm.Guid':
      return `guid'${random.chance(0.3) ? text.toUpperCase() : text}'`;
    case 'Edm.Binary':
      return `X'${Buffer.from(String(comparable), 'latin1').toString('hex')}'`;
    default:
      return unreachable(type);
  }
}
