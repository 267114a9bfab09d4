import { ValueError } from '../../rows/model-error.js';

/**
 * How often the values of something occur: the PartitionKeys of the rows of a table, the last names
 * of employees. `uniform`, `zipf` and `counts` make one; `measure` finds one.
 */
export type Distribution =
  /** Every value as often. */
  | { readonly kind: 'uniform'; readonly values: number }
  /** The k-th most frequent value is 1 / k^exponent as frequent as the first. */
  | { readonly kind: 'zipf'; readonly values: number; readonly exponent: number }
  /** How often each value occurs, as far as one another are compared. */
  | {
      readonly kind: 'counts';
      readonly counts: Readonly<Record<string, number>>;
      /** Values besides those, and how often they occur together. 0 when absent. */
      readonly otherValues?: number;
      readonly otherCount?: number;
      /** Whether this is all, or was found in a part of the table. `true` when absent. */
      readonly isWhole?: boolean;
    };

function checkValues(values: number): void {
  if (Number.isInteger(values) && values >= 1) return;
  throw new ValueError(`a distribution has a whole number of values from 1, not ${values}`);
}

/** `values` values, each as often as the others. */
export function uniform(values: number): Distribution {
  checkValues(values);
  return Object.freeze({ kind: 'uniform', values });
}

/**
 * `values` values of which few are frequent: names, words, visits. With exponent 0 every value is
 * as frequent; 1 is what languages have; 2 gives the first value more than half of all.
 */
export function zipf(values: number, exponent = 1): Distribution {
  checkValues(values);
  if (!(exponent >= 0 && exponent <= 10)) {
    throw new ValueError(`the exponent of a Zipf distribution is 0 to 10, not ${exponent}`);
  }
  return Object.freeze({ kind: 'zipf', values, exponent });
}

/** How often each value occurs: `counts({ female: 520, male: 480 })`. */
export function counts(of: Readonly<Record<string, number>>): Distribution {
  const all = Object.entries(of);
  for (const [value, count] of all) {
    if (count >= 0 && Number.isFinite(count)) continue;
    throw new ValueError(`'${value}' cannot occur ${count} times`);
  }
  if (!all.some(([, count]) => count > 0)) throw new ValueError('no value occurs at all');
  return Object.freeze({ kind: 'counts', counts: Object.freeze({ ...of }) });
}
