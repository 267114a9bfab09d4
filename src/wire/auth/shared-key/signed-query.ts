import { decodeOnce } from '../../http/percent.js';
import { authenticationFailed } from '../../../model/errors/authentication-failed.js';

/** A query parameter, decoded, its name in lower case. */
export type QueryParameter = readonly [name: string, value: string];

/** Clients disagree whether `+` in a query string is itself or a space. */
export type PlusMeaning = 'plus' | 'space';

/**
 * The parameters of a query string in their order. Throws `InvalidInput` for malformed percent
 * encoding.
 */
export function queryParameters(rawQuery: string, plus: PlusMeaning): readonly QueryParameter[] {
  if (rawQuery === '') return none;
  const parameters: QueryParameter[] = [];
  for (const part of rawQuery.split('&')) if (part !== '') parameters.push(parameterOf(part, plus));
  return parameters;
}

const none: readonly QueryParameter[] = [];

function parameterOf(part: string, plus: PlusMeaning): QueryParameter {
  const text = plus === 'space' ? part.replaceAll('+', ' ') : part;
  const equals = text.indexOf('=');
  if (equals < 0) return [decodeOnce(text).toLowerCase(), ''];
  return [decodeOnce(text.slice(0, equals)).toLowerCase(), decodeOnce(text.slice(equals + 1))];
}

function byNameAndValue(left: QueryParameter, right: QueryParameter): number {
  return compared(left[0], right[0]) || compared(left[1], right[1]);
}

function compared(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * One line per name, each after a line break; the values of one name are sorted and joined by
 * commas.
 *
 * @throws {StorageError} `AuthenticationFailed` for ambiguous parameters
 */
export function canonicalizedQuery(parameters: readonly QueryParameter[]): string {
  let text = '';
  let last: string | undefined;
  const sorted = parameters.length > 1 ? parameters.toSorted(byNameAndValue) : parameters;
  for (const [name, value] of sorted) {
    checkApart(name, value);
    text += name === last ? `,${value}` : `\n${name}:${value}`;
    last = name;
  }
  return text;
}

/**
 * Refuses ambiguous texts: otherwise a reader of a signature could move the borders between names,
 * values and lines, and turn a peek into a get. No operation has such parameters.
 */
function checkApart(name: string, value: string): void {
  if (!name.includes(':') && !name.includes('\n') && !value.includes('\n')) return;
  throw authenticationFailed(
    'A parameter of the query string has a line break, or a colon in its name: what was signed ' +
      'could mean other parameters.',
  );
}

/**
 * The part of the query that Shared Key Lite signs: `?comp=…`, if there is one. Of several it is
 * the first, which also selects the operation.
 */
export function compOnly(parameters: readonly QueryParameter[]): string {
  const comp = parameters.find(([name]) => name === 'comp');
  return comp === undefined ? '' : `?comp=${comp[1]}`;
}
