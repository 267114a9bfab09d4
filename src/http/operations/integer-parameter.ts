import {
  invalidQueryParameter,
  outOfRangeQueryParameter,
} from '../../model/errors/query-errors.js';
import type { QueryOptions } from '../../wire/http/query-string.js';

const integer = /^-?[0-9]+$/;

export function integerOf(name: string, text: string): number {
  if (!integer.test(text)) throw invalidQueryParameter(name, text, 'It must be a decimal integer.');
  return Number(text);
}

/** A parameter that is an integer from `min` to `max`; undefined when it is absent. */
export function rangedInteger(
  query: QueryOptions,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const value = integerOf(name, text);
  if (value < min || value > max) throw outOfRangeQueryParameter(name, text, min, max);
  return value;
}
