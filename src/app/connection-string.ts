import type { AccountSettings } from '../services/accounts/directory.js';

/** What every client library of the service takes; it signs with the account's first key. */
export function connectionStringOf(account: AccountSettings, origin: string): string {
  return [
    'DefaultEndpointsProtocol=http',
    `AccountName=${account.name}`,
    `AccountKey=${account.keys[0] ?? ''}`,
    `TableEndpoint=${origin}/${account.name}`,
    '',
  ].join(';');
}

/** Scheme and authority under which a listener can be reached from its own machine. */
export function originOf(host: string, port: number): string {
  return `http://${reachable(host)}:${port}`;
}

/** An address that stands for all of them cannot be connected to everywhere. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
