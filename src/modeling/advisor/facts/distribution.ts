import { ValueError } from '../../rows/model-error.js';

/**
 * How often values occur, such as the PartitionKeys of a table or the last names of employees. Made
 * by `uniform`, `zipf` and `counts`, or found by `measure`.
 */
export type Distribution =
  /** All values are equally frequent. */
  | { readonly kind: 'uniform'; readonly values: number }
  /** The k-th most frequent value is 1 / k^exponent as frequent as the first. */
  | { readonly kind: 'zipf'; readonly values: number; readonly exponent: number }
  /** How often each value occurs; only the proportions matter. */
  | {
      readonly kind: 'counts';
      readonly counts: Readonly<Record<string, number>>;
      /** The number of further values, and how often they occur together. 0 when absent. */
      readonly otherValues?: number;
      readonly otherCount?: number;
      /** False when only a part of the table was read. `true` when absent. */
      readonly isWhole?: boolean;
    };

function checkValues(values: number): void {
  if (Number.isInteger(values) && values >= 1) return;
  throw new ValueError(`a distribution has a whole number of values from 1, not ${values}`);
}

/** `values` values that are equally frequent. */
export function uniform(values: number): Distribution {
  checkValues(values);
  return Object.freeze({ kind: 'uniform', values });
}

/**
 * `values` values of which few are frequent, such as names, words or visits. With exponent 0, all
 * are equally frequent; 1 is typical of languages; with 2, the first value has more than half of
 * all.
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
