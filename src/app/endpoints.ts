import type { Protocol } from '../http/exchange/exchange.js';
import type { AccountSettings } from '../services/accounts/directory.js';
import {
  endpointMember,
  serviceNames,
  services,
  type ServiceName,
} from '../model/services/services.js';
import type { ServerSettings } from './settings.js';
import { ServerOptionsError } from './options/server-options-error.js';

/** Where a server can be reached and how to connect to it. */
export interface ServerEndpoints {
  /** The table endpoint of the first account, `http://host:port/account`; https with TLS. */
  readonly tableEndpoint: string;
  readonly tablePort: number;
  /** The queue endpoint of the first account, `http://host:port/account`; https with TLS. */
  readonly queueEndpoint: string;
  readonly queuePort: number;
  /** The blob endpoint of the first account, `http://host:port/account`; https with TLS. */
  readonly blobEndpoint: string;
  readonly blobPort: number;
  /** Names of the accounts it serves. */
  readonly accounts: readonly string[];
  /**
   * Ready for `TableClient.fromConnectionString`, `QueueServiceClient.fromConnectionString` and
   * `BlobServiceClient.fromConnectionString`. Default: the first account.
   */
  connectionString(account?: string): string;
}

export function endpointOf(server: ServerEndpoints, service: ServiceName): string {
  return server[`${service}Endpoint`];
}

/** For people and logs: `tables`, `queues`, `blobs`. */
export function endpointsByPlural(server: ServerEndpoints): Readonly<Record<string, string>> {
  return Object.fromEntries(
    serviceNames.map((service) => [services[service].plural, endpointOf(server, service)]),
  );
}

export function portOf(server: ServerEndpoints, service: ServiceName): number {
  return server[`${service}Port`];
}

/** The endpoints for these ports. */
export function endpointsOf(
  { accounts, listeners, tls }: Pick<ServerSettings, 'accounts' | 'listeners' | 'tls'>,
  ports: Readonly<Record<ServiceName, number>>,
): ServerEndpoints {
  const names = accounts.map(({ name }) => name);
  const protocol = tls === undefined ? 'http' : 'https';
  const accountOf = (name: string | undefined): AccountSettings => {
    const found = name === undefined ? accounts[0] : accounts.find((each) => each.name === name);
    if (found !== undefined) return found;
    throw new ServerOptionsError(`no account '${name}'; there is: ${names.join(', ')}`);
  };
  const endpoint = (service: ServiceName, { name }: AccountSettings): string =>
    `${protocol}://${reachable(listeners[service].host)}:${ports[service]}/${name}`;
  const first = accountOf(undefined);
  return {
    tableEndpoint: endpoint('table', first),
    tablePort: ports.table,
    queueEndpoint: endpoint('queue', first),
    queuePort: ports.queue,
    blobEndpoint: endpoint('blob', first),
    blobPort: ports.blob,
    accounts: names,
    connectionString(name) {
      const account = accountOf(name);
      return connectionStringOf(account, protocol, (service) => endpoint(service, account));
    },
  };
}

/** The connection string for client libraries; it has the account's first key. */
function connectionStringOf(
  account: AccountSettings,
  protocol: Protocol,
  endpointOf: (service: ServiceName) => string,
): string {
  const endpoints = serviceNames.map(
    (service) => `${endpointMember(service)}=${endpointOf(service)}`,
  );
  return [
    `DefaultEndpointsProtocol=${protocol}`,
    `AccountName=${account.name}`,
    `AccountKey=${account.keys[0] ?? ''}`,
    ...endpoints.toSorted(),
    '',
  ].join(';');
}

/** A wildcard address is replaced, because clients cannot connect to it everywhere. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
