import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Logger } from 'pino';
import { serviceNames, services } from '../../model/services/services.js';
import { hasPublicKey, type AccountSettings } from '../../services/accounts/directory.js';
import type { StartSettings } from './settings.js';

/** Addresses that are listed, at most. */
const addressesMax = 8;

type ReachSettings = Pick<StartSettings, 'accounts' | 'options'>;

/** Hosts that the services listen on, each once. */
function hostsOf({ options }: Pick<StartSettings, 'options'>): readonly string[] {
  const { host = '127.0.0.1' } = options;
  return [...new Set(serviceNames.map((service) => options[`${service}Host` as const] ?? host))];
}

/** Whether other machines cannot reach what listens there. */
function isLoopback(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** As `0.0.0.0`, which no client can connect to. */
function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Under which addresses other machines reach a service that listens on all of them. */
export function machineAddresses(hosts: readonly string[]): readonly string[] {
  if (!hosts.some(isEveryAddress)) return [];
  const hasIPv6 = hosts.includes('::');
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family, address }) => {
      // Link-local addresses are of no use without the name of an interface.
      return !internal && (family === 'IPv4' || (hasIPv6 && !address.startsWith('fe80:')));
    })
    .map(({ address }) => address);
  return [...new Set(found)].slice(0, addressesMax);
}

/** Where else than under its endpoints a server can be reached, as lines of the banner. */
export function reachLines(settings: Pick<StartSettings, 'options'>): string[] {
  const addresses = machineAddresses(hostsOf(settings));
  return addresses.length === 0 ? [] : [`  Reached at  ${addresses.join(', ')}`];
}

/** The accounts that anybody in a network of the machine can use. */
function exposedAccounts({ accounts, options }: ReachSettings): readonly AccountSettings[] {
  return hostsOf({ options }).every(isLoopback) ? [] : accounts.filter(hasPublicKey);
}

/** What must not be overlooked: a key that everybody knows, within reach of other machines. */
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

/** Says the same in the log. */
export function warnOfExposure(log: Pick<Logger, 'warn'>, settings: ReachSettings): void {
  const warning = exposureWarning(settings);
  if (warning !== undefined) log.warn(warning);
}
