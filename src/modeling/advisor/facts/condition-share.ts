import { unreachable } from '../../../base/invariant.js';
import { storedNameOf, type AnyDefinition } from '../../definition/entity-definition.js';
import type { AnyProperty } from '../../definition/property.js';
import type { FilterNode } from '../../table/filter-node.js';
import { filterFieldsOf } from '../../table/filter.js';
import type { RowConditions } from '../../table/query-plan.js';
import { valuesOf } from './key-spread.js';
import type { FactsByName } from './property-facts.js';
import { shareOf, spreadOf } from './spread.js';
import { nameOfValue } from './value-name.js';

/** The condition of a query as data; undefined when it has none. */
export function conditionOf(
  definition: AnyDefinition,
  { where }: RowConditions<AnyDefinition>,
): FilterNode | undefined {
  return where?.(filterFieldsOf(definition)).node;
}

/** The share of rows that satisfy a condition; undefined when the facts do not determine it. */
export function shareOfCondition(
  node: FilterNode,
  definition: AnyDefinition,
  facts: FactsByName,
): number | undefined {
  const shares = (parts: readonly FilterNode[]): readonly (number | undefined)[] =>
    parts.map((part) => shareOfCondition(part, definition, facts));
  switch (node.kind) {
    case 'compare':
      return shareOfComparison(node, definition, facts);
    case 'and':
      // An unknown part counts as 1: it is better to expect more rows than fewer.
      return shares(node.parts).reduce<number>((all, share = 1) => all * share, 1);
    case 'or':
      return shares(node.parts).reduce(
        (sum, share) =>
          sum === undefined || share === undefined ? undefined : Math.min(1, sum + share),
        0,
      );
    case 'not': {
      const share = shareOfCondition(node.part, definition, facts);
      return share === undefined ? undefined : 1 - share;
    }
    default:
      return unreachable(node);
  }
}

type Comparison = Extract<FilterNode, { readonly kind: 'compare' }>;

function shareOfComparison(
  { name, operator, value }: Comparison,
  definition: AnyDefinition,
  facts: FactsByName,
): number | undefined {
  const property = propertyOfStored(name, definition);
  if (property === undefined || (operator !== 'eq' && operator !== 'ne')) return undefined;
  const values = valuesOf(property, definition.properties[property], facts);
  if (values === undefined) return undefined;
  const told = nameOfValue(value.value);
  const known = told === undefined ? undefined : shareOf(values, told);
  const equal = known ?? spreadOf(values).typical;
  const present = facts[property]?.present ?? 1;
  return present * (operator === 'eq' ? equal : 1 - equal);
}

/** The property that is stored under a name. */
export function propertyOfStored(
  storedName: string,
  { properties }: AnyDefinition,
): string | undefined {
  return Object.entries<AnyProperty>(properties).find(
    ([name, property]) => storedNameOf(name, property) === storedName,
  )?.[0];
}

/** The properties that must equal a value for the condition to hold. */
export function equalProperties(
  node: FilterNode | undefined,
  definition: AnyDefinition,
): readonly string[] {
  if (node === undefined) return [];
  if (node.kind === 'and') {
    return node.parts.flatMap((part) => equalProperties(part, definition));
  }
  if (node.kind !== 'compare' || node.operator !== 'eq') return [];
  const property = propertyOfStored(node.name, definition);
  return property === undefined ? [] : [property];
}
