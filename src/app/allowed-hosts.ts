import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { ServerOptionsError } from './server-options-error.js';

/** Names in lower case, `.example.com` for every name under it, `*` for every name. */
const hostPattern = /^(?:\*|\.?[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)$/i;
const hostsMax = 1_000;
const hostCharactersMax = 253;

/**
 * The host names to which accounts with a public key answer besides those that no stranger can
 * have: the given ones, those that the server listens on, and that of the machine. Throws
 * `ServerOptionsError`.
 */
export function allowedHostsOf(
  given: readonly string[],
  listening: readonly string[],
): readonly string[] {
  if (given.length > hostsMax) {
    throw new ServerOptionsError(`allowHosts names more than ${hostsMax} hosts: give '*' for all`);
  }
  const bad = given.find((name) => name.length > hostCharactersMax || !hostPattern.test(name));
  if (bad !== undefined) {
    throw new ServerOptionsError(
      `allowHosts has '${bad.slice(0, 100)}'; it must be a host name without scheme and port, ` +
        "'.example.com' for all names under it, or '*'",
    );
  }
  const own = [...listening, hostname()].filter((name) => isIP(name) === 0);
  return [...given, ...own];
}
