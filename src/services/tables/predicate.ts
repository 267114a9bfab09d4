import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { propertyTag, propertyTags } from '../../model/bag/bag.js';
import type { ComparisonOperator, Filter } from '../../model/edm/filter.js';
import type { EdmValue } from '../../model/edm/value.js';
import { FilterParts } from './filter-parts.js';
import { typeMismatchResult } from './type-mismatch.js';
import { PropertyFinder } from './property-finder.js';
import { orderTest, timestampOrder, valueTest, type PropertyTest } from './value-comparison.js';
import { isTrue } from './value-order.js';
import { membershipTest } from './value-set.js';

/** Tests one row. The keys are only read when `readsKeys`; otherwise any value may be passed. */
export type RowTest = (
  partitionKey: string,
  rowKey: string,
  version: number,
  bag: Bytes,
) => boolean;

export interface Predicate {
  readonly test: RowTest;
  /** True when the test needs the keys; otherwise they need not be decoded. */
  readonly readsKeys: boolean;
  /** The worst cost of a row, in tests of single values. At least 1. */
  readonly weight: number;
}

/**
 * Compiles a filter to a test of stored rows that decodes only the compared values (table-service
 * §5.4). Logic is two-valued: a comparison with a missing property is false, whatever its operator,
 * and `not` negates it.
 *
 * A row is searched for its properties once, common parts are tested once, and many equality tests
 * of one property become one set.
 */
export function compilePredicate(filter: Filter): Predicate {
  return new Compiler(filter).compile();
}

/** Up to this many equality tests, comparing is faster than a set. */
const comparedMax = 3;
/** The cost of searching a row for one more name, in tests. */
const nameWeight = 4;
/** The literal characters that are compared in the time of one test. */
const charactersPerTest = 64;

class Compiler {
  readonly #filter: Filter;
  readonly #parts: FilterParts;
  readonly #finder = new PropertyFinder();
  /** The tests of common parts. */
  readonly #shared = new Map<number, RowTest>();
  /** The row number, which tells whether a cached result is of the current row. */
  #row = 0;
  #tests = 0;
  #characters = 0;
  #readsKeys = false;

  constructor(filter: Filter) {
    this.#filter = filter;
    this.#parts = new FilterParts(filter);
  }

  compile(): Predicate {
    const inner = this.#rowTest(this.#filter);
    const finder = this.#finder;
    const announcing: RowTest = (partitionKey, rowKey, version, bag) => {
      this.#row += 1;
      finder.begin();
      return inner(partitionKey, rowKey, version, bag);
    };
    const remembers = finder.remembers || this.#shared.size > 0;
    const test = remembers ? announcing : inner;
    const texts = Math.ceil(this.#characters / charactersPerTest);
    const weight = Math.max(1, this.#tests + texts + nameWeight * finder.count);
    return { test, readsKeys: this.#readsKeys, weight };
  }

  #rowTest(part: Filter): RowTest {
    const isCombined = part.kind === 'and' || part.kind === 'or';
    if (!isCombined || !this.#parts.isShared(part)) return this.#ownTest(part);
    const number = this.#parts.numberOf(part);
    const known = this.#shared.get(number);
    if (known !== undefined) return known;
    const test = this.#oncePerRow(this.#ownTest(part));
    this.#shared.set(number, test);
    return test;
  }

  #oncePerRow(test: RowTest): RowTest {
    let row = 0;
    let result = false;
    return (partitionKey, rowKey, version, bag) => {
      if (row !== this.#row) {
        result = test(partitionKey, rowKey, version, bag);
        row = this.#row;
      }
      return result;
    };
  }

  #ownTest(part: Filter): RowTest {
    switch (part.kind) {
      case 'and':
        return everyTest(this.#operandTests(part.operands, 'ne'));
      case 'or':
        return anyTest(this.#operandTests(part.operands, 'eq'));
      case 'not': {
        const inner = this.#rowTest(part.operand);
        return (partitionKey, rowKey, version, bag) => !inner(partitionKey, rowKey, version, bag);
      }
      case 'comparison':
        this.#note(part.property, part.literal);
        return this.#comparisonTest(part.property, part.operator, part.literal);
      case 'property':
        return this.#isTrueTest(part.property);
      case 'constant':
        return constantTest(part.value);
      default:
        return unreachable(part);
    }
  }

  /** The operand tests; many equality tests of one property become one set. */
  #operandTests(operands: readonly Filter[], operator: 'eq' | 'ne'): readonly RowTest[] {
    const { sets, others } = equalities(this.#parts.distinct(operands), operator);
    const tests = Array.from(sets, ([property, literals]) =>
      this.#setTest(property, operator, literals),
    );
    return [...tests, ...others.map((operand) => this.#rowTest(operand))];
  }

  /** `eq`: the value is in the set; `ne`: the property exists and its value is not in the set. */
  #setTest(property: string, operator: 'eq' | 'ne', literals: readonly EdmValue[]): RowTest {
    const [first] = literals;
    if (first !== undefined) this.#note(property, first);
    const expected = operator === 'eq';
    if (property === 'PartitionKey' || property === 'RowKey') {
      const keys = new Set(literals.map(({ value }) => value));
      return property === 'PartitionKey'
        ? (partitionKey) => keys.has(partitionKey) === expected
        : (_, rowKey) => keys.has(rowKey) === expected;
    }
    const isMember = membershipTest(literals);
    return this.#propertyTest(property, (bag, at) => isMember(bag, at) === expected);
  }

  #note(property: string, { value }: EdmValue): void {
    this.#tests += 1;
    if (typeof value === 'string' || typeof value === 'object') this.#characters += value.length;
    if (property === 'PartitionKey' || property === 'RowKey') this.#readsKeys = true;
  }

  #comparisonTest(property: string, operator: ComparisonOperator, literal: EdmValue): RowTest {
    const holds = orderTest(operator);
    switch (property) {
      case 'PartitionKey':
      case 'RowKey': {
        if (literal.type !== 'Edm.String') return constantTest(typeMismatchResult(operator));
        const text = literal.value;
        const order = (key: string) => (key < text ? -1 : key > text ? 1 : 0);
        return property === 'PartitionKey'
          ? (partitionKey) => holds(order(partitionKey))
          : (_, rowKey) => holds(order(rowKey));
      }
      case 'Timestamp': {
        if (literal.type !== 'Edm.DateTime') return constantTest(typeMismatchResult(operator));
        const order = timestampOrder(literal.value);
        return (_, __, version) => holds(order(version));
      }
      default:
        return this.#propertyTest(property, valueTest(operator, literal));
    }
  }

  /** False where the property is missing. */
  #propertyTest(property: string, test: PropertyTest): RowTest {
    const locate = this.#finder.locate(property);
    return (_, __, ___, bag) => {
      const at = locate(bag);
      return at !== -1 && test(bag, at);
    };
  }

  /** The keys and Timestamp exist but are never Boolean. */
  #isTrueTest(property: string): RowTest {
    this.#tests += 1;
    if (isSystemProperty(property)) return constantTest(false);
    return this.#propertyTest(
      property,
      (bag, at) => propertyTag(bag, at) === propertyTags.boolean && isTrue(bag, at),
    );
  }
}

interface Equalities {
  /** Literals by property, where there are enough for a set. */
  readonly sets: ReadonlyMap<string, readonly EdmValue[]>;
  readonly others: readonly Filter[];
}

function equalities(operands: readonly Filter[], operator: 'eq' | 'ne'): Equalities {
  const literals = new Map<string, EdmValue[]>();
  for (const operand of operands) {
    if (!isSettable(operand, operator)) continue;
    const known = literals.get(operand.property);
    if (known === undefined) literals.set(operand.property, [operand.literal]);
    else known.push(operand.literal);
  }
  for (const [property, known] of literals) {
    if (known.length <= comparedMax) literals.delete(property);
  }
  const others = operands.filter(
    (operand) => !isSettable(operand, operator) || !literals.has(operand.property),
  );
  return { sets: literals, others };
}

type Comparison = Extract<Filter, { kind: 'comparison' }>;

function isSettable(filter: Filter, operator: 'eq' | 'ne'): filter is Comparison {
  if (filter.kind !== 'comparison' || filter.operator !== operator) return false;
  // A literal of another type never equals a key; times are compared as numbers.
  if (filter.property === 'Timestamp') return false;
  return !isSystemProperty(filter.property) || filter.literal.type === 'Edm.String';
}

function isSystemProperty(property: string): boolean {
  return property === 'PartitionKey' || property === 'RowKey' || property === 'Timestamp';
}

function everyTest(tests: readonly RowTest[]): RowTest {
  return (partitionKey, rowKey, version, bag) => {
    for (const test of tests) if (!test(partitionKey, rowKey, version, bag)) return false;
    return true;
  };
}

function anyTest(tests: readonly RowTest[]): RowTest {
  return (partitionKey, rowKey, version, bag) => {
    for (const test of tests) if (test(partitionKey, rowKey, version, bag)) return true;
    return false;
  };
}

function constantTest(value: boolean): RowTest {
  return () => value;
}
