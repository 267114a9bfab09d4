import { isIP } from 'node:net';
import { hostname } from 'node:os';

/**
 * The allowed host names of accounts with a public key, besides names that web pages cannot have:
 * the given ones, the listen addresses, and the name of the machine.
 */
export function allowedHostsOf(
  given: readonly string[],
  listening: readonly string[],
): readonly string[] {
  const own = [...listening, hostname()].filter((name) => isIP(name) === 0);
  return [...given, ...own];
}
