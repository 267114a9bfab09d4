import { isIP } from 'node:net';
import { hostname } from 'node:os';

/**
 * The host names to which accounts with a public key answer besides those that no stranger can
 * have: the given ones, those that the server listens on, and that of the machine.
 */
export function allowedHostsOf(
  given: readonly string[],
  listening: readonly string[],
): readonly string[] {
  const own = [...listening, hostname()].filter((name) => isIP(name) === 0);
  return [...given, ...own];
}
