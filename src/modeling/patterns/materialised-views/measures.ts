import { own } from '../../../base/own.js';
import { keyNamesOf, type AnyDefinition } from '../../definition/entity-definition.js';
import type { NumberNames, ReadOf } from '../../definition/shapes.js';
import { DefinitionError } from '../../rows/model-error.js';

/**
 * The amount that one entity adds to each measure of a view: 1 to count it, its salary to sum
 * salaries, 0 to ignore it. Must be a pure function of the entity, because the same amount is
 * subtracted later.
 */
export type Measures<S extends AnyDefinition, V extends AnyDefinition> = {
  readonly [N in NumberNames<V>]?: (entity: ReadOf<S>) => number | bigint;
};

/** A number per measure. */
export type Numbers = Readonly<Record<string, number | bigint>>;
type AnyMeasures = Readonly<Record<string, ((entity: unknown) => number | bigint) | undefined>>;

const summable = new Set(['int32', 'int64', 'double']);

/** Throws `DefinitionError` for measures that the view cannot store. */
export function checkMeasures(definition: AnyDefinition, measures: object): void {
  const { type, properties } = definition;
  const inKeys = keyNamesOf(definition);
  const names = Object.keys(measures);
  if (names.length === 0) throw new DefinitionError(`${type}: a view needs a measure`);
  for (const name of names) {
    const model = own(properties, name)?.model;
    const isKept = model !== undefined && summable.has(model.kind) && !inKeys.has(name);
    if (isKept && model.flags.has('default')) continue;
    throw new DefinitionError(
      `${type}.${name} cannot be a measure: it has to be a number with a default, such as int32().default(0), and not in the keys`,
    );
  }
}

/** The amounts that an entity adds. */
export function measure(measures: object, entity: unknown): Numbers {
  const found: Record<string, number | bigint> = {};
  for (const [name, valueOf] of Object.entries(measures as AnyMeasures)) {
    if (valueOf !== undefined) found[name] = valueOf(entity);
  }
  return found;
}

/** The named values of an entity, 0 for absent ones. */
export function pick(entity: object, names: object): Numbers {
  const values = entity as Numbers;
  return Object.fromEntries(Object.keys(names).map((name) => [name, values[name] ?? 0]));
}

/** The sum of `left` and `times` as often `right`. Absent measures count as 0. */
export function plus(left: Numbers, right: Numbers, times: 1 | -1 = 1): Numbers {
  const result: Record<string, number | bigint> = { ...left };
  for (const [name, value] of Object.entries(right)) result[name] = add(left[name], value, times);
  return result;
}

function add(
  before: number | bigint | undefined,
  value: number | bigint,
  times: 1 | -1,
): number | bigint {
  if (typeof value === 'bigint') {
    return (typeof before === 'bigint' ? before : BigInt(before ?? 0)) + value * BigInt(times);
  }
  return Number(before ?? 0) + value * times;
}

export function isZero(numbers: Numbers): boolean {
  return Object.values(numbers).every((value) => Number(value) === 0);
}

/**
 * Allowed relative difference between sums of fractions, which depend on the order of additions.
 */
const tolerance = 1e-9;

/** Whether two views are equal; absent measures count as 0. */
export function isSame(left: Numbers, right: Numbers): boolean {
  return Object.entries(plus(left, right, -1)).every(([name, difference]) => {
    if (typeof difference === 'bigint') return difference === 0n;
    const size = Math.max(Math.abs(Number(left[name] ?? 0)), Math.abs(Number(right[name] ?? 0)));
    return Math.abs(difference) <= (Number.isInteger(difference) ? 0 : size * tolerance);
  });
}
