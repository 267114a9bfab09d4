import type { Config } from '../config/config-file.js';
import { valueAt } from './option-values.js';

/** Some members as in the configuration that holds, and all others as in the next one. */
export function heldConfig(held: Config, next: Config, members: readonly string[]): Config {
  return members.reduce((config: Config, member) => {
    const path = member.split('.');
    return withValue(config, path, valueAt(held, path));
  }, next);
}

/** A copy with another value at a path; undefined removes it. */
function withValue(config: Config, [name, ...inner]: readonly string[], value: unknown): Config {
  if (name === undefined) return config;
  const { [name]: old, ...others } = config;
  const part = inner.length === 0 ? value : partWith(old, inner, value);
  return part === undefined ? others : { ...others, [name]: part };
}

function partWith(part: unknown, inner: readonly string[], value: unknown): unknown {
  if (isConfig(part)) return withValue(part, inner, value);
  return value === undefined ? part : withValue({}, inner, value);
}

function isConfig(part: unknown): part is Config {
  return typeof part === 'object' && part !== null;
}
