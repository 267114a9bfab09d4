import { unreachable } from '../../base/invariant.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { storedNameOf } from '../definition/entity-definition.js';
import { unknownName } from '../definition/unknown-name.js';
import type { AnyProperty } from '../definition/property.js';
import type { FilterNames, FiltersRefused } from '../definition/shapes.js';
import type { Instant } from '../rows/instant.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import type { WireValue } from '../rows/row.js';
import { textAfterPrefix } from '../rows/text-order.js';
import { holds } from './filter-match.js';
import type { Comparison, FilterNode } from './filter-node.js';
import { odataLiteral } from './odata.js';

/**
 * A condition. A property with a default has that value where a row lacks it, as in a read. Any
 * other comparison with a property that a row lacks is false, `ne` included; `not` of it is true.
 */
export class Filter {
  readonly node: FilterNode;

  constructor(node: FilterNode) {
    this.node = node;
  }

  and(...others: readonly Filter[]): Filter {
    return new Filter({ kind: 'and', parts: [this, ...others].map(({ node }) => node) });
  }

  or(...others: readonly Filter[]): Filter {
    return new Filter({ kind: 'or', parts: [this, ...others].map(({ node }) => node) });
  }

  not(): Filter {
    return new Filter({ kind: 'not', part: this.node });
  }

  /** The OData text of the filter. */
  toString(): string {
    return odataFilter(this.node);
  }
}

/** A property in a filter. */
export interface FilterField<V> {
  eq(value: V): Filter;
  /** False, like every comparison, for a row that lacks the property, unless it has a default. */
  ne(value: V): Filter;
  gt(value: V): Filter;
  ge(value: V): Filter;
  lt(value: V): Filter;
  le(value: V): Filter;
}

/** A text in a filter. Texts compare by UTF-16 code units, upper case before lower case. */
export interface TextFilterField<V> extends FilterField<V> {
  startsWith(text: string): Filter;
}

type Comparable = string | number | bigint | boolean | Date | Instant | Uint8Array;

/** The filter field of a type; an embedded object has one for each property. */
export type FilterFieldOf<V> = [V] extends [string]
  ? TextFilterField<V>
  : [V] extends [Comparable]
    ? FilterField<V>
    : { readonly [N in keyof V]-?: FilterFieldOf<NonNullable<V[N]>> };

/** The fields that a filter of a definition can use. */
export type FilterFields<D extends AnyDefinition> = {
  readonly [N in FilterNames<D>]: FilterFieldOf<
    NonNullable<NonNullable<D['properties'][N]['~types']>['value']>
  >;
} & FiltersRefused<D>;

/** A comparison with a stored property, false for rows that lack it. */
export function whereStored(name: string, operator: Comparison, value: WireValue): Filter {
  return new Filter({ kind: 'compare', name, operator, value, ifAbsent: false });
}

/** True when one of the conditions is; undefined for no conditions. */
export function anyOf(filters: readonly Filter[]): Filter | undefined {
  const [first, ...others] = filters;
  return others.length === 0 ? first : first?.or(...others);
}

/** The OData text, with parentheses only where `and` and `or` meet, and after `not`. */
export function odataFilter(node: FilterNode): string {
  switch (node.kind) {
    case 'compare':
      return odataComparison(node);
    case 'not':
      return `not (${odataFilter(node.part)})`;
    case 'and':
    case 'or':
      return node.parts
        .map((part) => {
          const isMixed = part.kind !== node.kind && (part.kind === 'and' || part.kind === 'or');
          return isMixed ? `(${odataFilter(part)})` : odataFilter(part);
        })
        .join(` ${node.kind} `);
    default:
      return unreachable(node);
  }
}

const opposites: Readonly<Record<Comparison, Comparison>> = {
  eq: 'ne',
  ne: 'eq',
  gt: 'le',
  ge: 'lt',
  lt: 'ge',
  le: 'gt',
};

/** Without an operator for absent properties, one is told by comparisons that are all false. */
function odataComparison({
  name,
  operator,
  value,
  ifAbsent,
}: Extract<FilterNode, { readonly kind: 'compare' }>): string {
  const literal = odataLiteral(value);
  if (!ifAbsent) return `${name} ${operator} ${literal}`;
  if (value.type !== 'Double') return `not (${name} ${opposites[operator]} ${literal})`;
  // Every order with NaN is false, so the opposite would be true for it.
  return `(${name} ${operator} ${literal} or not (${name} eq ${literal} or ${name} ne ${literal}))`;
}

/** The text of a condition as an operand of `and`. */
export function odataConjunct({ node }: Filter): string {
  return node.kind === 'or' ? `(${odataFilter(node)})` : odataFilter(node);
}

/**
 * The filter fields of a definition. One that cannot be in a filter throws `DefinitionError` when
 * used, and a name that is not declared `ValueError`.
 */
export function filterFieldsOf<D extends AnyDefinition>(definition: D): FilterFields<D> {
  const inKeys = new Set(
    [...definition.partitionKey.parts, ...definition.rowKey.parts].map(({ property }) => property),
  );
  const fields = new Map<string, Field>();
  for (const [name, property] of Object.entries<AnyProperty>(definition.properties)) {
    const { flags } = property.model;
    fields.set(
      name,
      inKeys.has(name) && !flags.has('stored')
        ? { refusal: 'only the keys carry it: bound the query by them, or declare it stored()' }
        : fieldOf(`${definition.type}.${name}`, storedNameOf(name, property), property),
    );
  }
  return guarded(definition.type, fields) as FilterFields<D>;
}

/** A field of a filter, or why there is none. */
type Field = { readonly value: unknown } | { readonly refusal: string };

/** The fields by name. A name without one throws when it is read, with what to do instead. */
function guarded(owner: string, fields: ReadonlyMap<string, Field>): object {
  return new Proxy(Object.create(null) as object, {
    get: (_target, name) => {
      if (typeof name === 'symbol') return undefined;
      const field = fields.get(name);
      if (field === undefined) throw new ValueError(unknownName(owner, name, [...fields.keys()]));
      if ('value' in field) return field.value;
      throw new DefinitionError(`${owner}.${name} cannot be in a filter: ${field.refusal}`);
    },
  });
}

/** `title` names it for people. */
function fieldOf(title: string, name: string, property: AnyProperty): Field {
  const { kind, flags, properties = {} } = property.model;
  if (flags.has('encrypted')) return { refusal: 'it is encrypted' };
  if (kind === 'json' || kind === 'list') return { refusal: 'it is stored as JSON or as a list' };
  if (kind !== 'embedded') return { value: comparableField(name, property) };
  const inner = Object.entries(properties).map(([each, of]): [string, Field] => [
    each,
    fieldOf(`${title}.${each}`, `${name}_${storedNameOf(each, of)}`, of),
  ]);
  return { value: guarded(title, new Map(inner)) };
}

function comparableField(name: string, { model }: AnyProperty): TextFilterField<unknown> {
  const wireOf = (value: unknown): WireValue => {
    let wire: WireValue | undefined;
    try {
      model.codec.write(name, value, {
        put: (_name, written) => (wire = written),
        finer: () => undefined,
      });
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw new ValueError(`a filter on ${name}: ${error.message}`);
    }
    if (wire === undefined) throw new DefinitionError(`${name} cannot be in a filter`);
    return wire;
  };
  const { defaultValue } = model;
  const comparison = (operator: Comparison) => (value: unknown) => {
    const wire = wireOf(value);
    const absent = defaultValue === undefined ? undefined : wireOf(defaultValue());
    const ifAbsent = absent !== undefined && holds(operator, absent, wire);
    return new Filter({ kind: 'compare', name, operator, value: wire, ifAbsent });
  };
  const ge = comparison('ge');
  const lt = comparison('lt');
  return {
    eq: comparison('eq'),
    ne: comparison('ne'),
    gt: comparison('gt'),
    ge,
    lt,
    le: comparison('le'),
    startsWith: (text) => startsWith(text, ge, lt),
  };
}

function startsWith(
  text: string,
  ge: (value: unknown) => Filter,
  lt: (value: unknown) => Filter,
): Filter {
  const from = ge(text);
  const end = textAfterPrefix(text);
  return end === undefined ? from : from.and(lt(end));
}
