import type { KeyTemplate } from '../../definition/key-template.js';
import type { AnyProperty, Properties } from '../../definition/property.js';
import { counts, uniform, type Distribution } from './distribution.js';
import type { FactsByName } from './property-facts.js';
import { spreadOf, type Spread } from './spread.js';

/** The distribution of a property's values; undefined when nothing is known of them. */
export function valuesOf(
  name: string,
  property: AnyProperty | undefined,
  facts: FactsByName,
): Distribution | undefined {
  const told = facts[name]?.values;
  if (told !== undefined) return told;
  const { kind, values = [] } = property?.model ?? {};
  if (kind === 'boolean') return counts({ false: 1, true: 1 });
  return values.length === 0 ? undefined : uniform(values.length);
}

/** The spread of a single value. */
export const whole: Spread = spreadOf(uniform(1));

/**
 * The spread of keys over the values of their parts, assuming that these are independent. Undefined
 * when nothing is known of a part.
 */
export function spreadOfKeys(
  { parts }: KeyTemplate,
  properties: Properties,
  facts: FactsByName,
): Spread | undefined {
  let spread: Spread | undefined = whole;
  for (const name of new Set(parts.map(({ property }) => property))) {
    const values = valuesOf(name, properties[name], facts);
    if (values === undefined || spread === undefined) return undefined;
    spread = spread === whole ? spreadOf(values) : combined(spread, spreadOf(values));
  }
  return spread;
}

/** The spread of pairs of independent values. */
export function combined(left: Spread, right: Spread): Spread {
  const greatest = left.greatest * right.greatest;
  const values = left.values * right.values;
  const isUniform = left.greatest === left.least && right.greatest === right.least;
  return {
    values,
    greatest,
    least: left.least * right.least,
    typical: left.typical * right.typical,
    first:
      left.first === undefined || right.first === undefined
        ? undefined
        : `${left.first}, ${right.first}`,
    // Unless both are uniform, only the most frequent pair is known for sure.
    above: (share) => (greatest > share ? (isUniform ? values : 1) : 0),
  };
}

/** A spread of at most `count` values, because there are no more rows. */
export function limited(spread: Spread, count: number): Spread {
  if (spread.values <= count || count < 1) return spread;
  return spreadOf(uniform(Math.floor(count)));
}
