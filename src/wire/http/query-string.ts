import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { decodeOnce } from './percent.js';

/** Query options by name, decoded; the first of a name counts (table-service §1.4). */
export type QueryOptions = ReadonlyMap<string, string>;

const none: QueryOptions = new Map<string, string>();

function decodePart(text: string): string {
  return decodeOnce(text.includes('+') ? text.replaceAll('+', ' ') : text);
}

/**
 * Reads a query string, without its `?`. `+` is a space, `%24` a `$`. Throws `InvalidInput` for
 * malformed percent encoding. Options without `=` have an empty value.
 */
export function parseQueryString(raw: string): QueryOptions {
  if (raw === '') return none;
  const options = new Map<string, string>();
  for (let start = 0; start < raw.length;) {
    let end = raw.indexOf('&', start);
    if (end < 0) end = raw.length;
    if (end > start) addOption(options, raw.slice(start, end));
    start = end + 1;
  }
  return options;
}

function addOption(options: Map<string, string>, part: string): void {
  const equals = part.indexOf('=');
  const name = decodePart(equals < 0 ? part : part.slice(0, equals));
  if (!options.has(name)) options.set(name, equals < 0 ? '' : decodePart(part.slice(equals + 1)));
}

/**
 * The options under lower-case names, for services that ignore the case of names (queue-service
 * §1.1). The first of a name counts, in whatever spelling.
 */
export function byLowerName(options: QueryOptions): QueryOptions {
  if (!hasUpperName(options)) return options;
  const lowered = new Map<string, string>();
  for (const [name, value] of options) {
    const lower = name.toLowerCase();
    if (!lowered.has(lower)) lowered.set(lower, value);
  }
  return lowered;
}

function hasUpperName(options: QueryOptions): boolean {
  for (const name of options.keys()) if (name !== name.toLowerCase()) return true;
  return false;
}

/** Whether an option occurs more than once, under its lower-case name in any spelling. */
export function isRepeated(raw: string, name: string): boolean {
  const names = raw.split('&').map((part) => decodePart(part.replace(/=.*$/s, '')).toLowerCase());
  return names.indexOf(name) !== names.lastIndexOf(name);
}

/** The value of an option; undefined when it is absent or empty. */
export function filled(options: QueryOptions, name: string): string | undefined {
  const value = options.get(name);
  return value === '' ? undefined : value;
}

/** The longest time limit of most operations. */
export const timeoutSecondsMax = 30;

const digits = /^[0-9]{1,9}$/;

/**
 * The time limit of a request in seconds; 0 and more than the longest one mean that (table-service
 * §10.4, queue-service §3.1, blob-service §3.1). Throws `InvalidQueryParameterValue` for anything
 * else.
 */
export function parseTimeout(
  options: QueryOptions,
  secondsMax = timeoutSecondsMax,
): number | undefined {
  const text = filled(options, 'timeout');
  if (text === undefined) return undefined;
  if (!digits.test(text)) {
    throw invalidQueryParameter('timeout', text, 'It must be a whole number of seconds.');
  }
  const seconds = Number(text);
  return seconds === 0 ? secondsMax : Math.min(seconds, secondsMax);
}
