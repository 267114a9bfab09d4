import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Logger } from 'pino';
import { serviceNames, services } from '../../model/services/services.js';
import { hasPublicKey, type AccountSettings } from '../../services/accounts/directory.js';
import type { StartSettings } from './settings.js';

/** Listed addresses, at most. */
const addressesMax = 8;

type ReachSettings = Pick<StartSettings, 'accounts' | 'options'>;

/** The listen hosts, each once. */
function hostsOf({ options }: Pick<StartSettings, 'options'>): readonly string[] {
  const { host = '127.0.0.1' } = options;
  return [...new Set(serviceNames.map((service) => options[`${service}Host` as const] ?? host))];
}

/** True when other machines cannot reach the host. */
function isLoopback(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** True for wildcard addresses such as `0.0.0.0`, which no client can connect to. */
function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** The addresses of this machine for a service that listens on all of them. */
export function machineAddresses(hosts: readonly string[]): readonly string[] {
  if (!hosts.some(isEveryAddress)) return [];
  const hasIPv6 = hosts.includes('::');
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family, address }) => {
      // Link-local addresses need the name of an interface.
      return !internal && (family === 'IPv4' || (hasIPv6 && !address.startsWith('fe80:')));
    })
    .map(({ address }) => address);
  return [...new Set(found)].slice(0, addressesMax);
}

/** Further addresses of a server besides its endpoints, as lines of the banner. */
export function reachLines(settings: Pick<StartSettings, 'options'>): string[] {
  const addresses = machineAddresses(hostsOf(settings));
  return addresses.length === 0 ? [] : [`  Reached at  ${addresses.join(', ')}`];
}

/** The accounts with a public key that other machines can reach. */
function exposedAccounts({ accounts, options }: ReachSettings): readonly AccountSettings[] {
  return hostsOf({ options }).every(isLoopback) ? [] : accounts.filter(hasPublicKey);
}

/** The warning about a public key within reach of other machines. */
export function exposureWarning(settings: ReachSettings): string | undefined {
  const exposed = exposedAccounts(settings).map(({ name }) => name);
  if (exposed.length === 0) return undefined;
  const hosts = hostsOf(settings).filter((host) => !isLoopback(host));
  const { emulatorPort: port } = services.table;
  return (
    `The key of ${exposed.join(', ')} is public, and the server listens on ${hosts.join(', ')}: ` +
    'whoever reaches this machine can read, change and delete all data of the account. Where that ' +
    'is not meant, listen on 127.0.0.1 (of a container, publish the ports there: -p ' +
    `127.0.0.1:${port}:${port}), or give accounts keys of their own: --account name:$(openssl rand ` +
    '-base64 48).'
  );
}

/** The same warning in the log. */
export function warnOfExposure(log: Pick<Logger, 'warn'>, settings: ReachSettings): void {
  const warning = exposureWarning(settings);
  if (warning !== undefined) log.warn(warning);
}
