import type { TabulariumServer } from '../app/index.js';
import { developmentAccount, type AccountSettings } from '../services/accounts/directory.js';
import { defaultTablePort } from './connection.js';

export interface BannerOptions {
  readonly server: Pick<TabulariumServer, 'tableEndpoint' | 'tablePort' | 'connectionString'>;
  readonly accounts: readonly AccountSettings[];
  /** Where the data are, in words. */
  readonly storage: string;
  readonly durability: 'durable' | 'relaxed';
  /** Whether the text goes to a person's terminal, and not into a log that others may read. */
  readonly isPrivate: boolean;
}

/** What is printed once the server listens: where it is and how to connect. */
export function bannerText(options: BannerOptions): string {
  const { server, accounts, storage, durability, isPrivate } = options;
  const lines = [
    'Tabularium table service',
    `  Endpoint    ${server.tableEndpoint}`,
    `  Data        ${storage}${durability === 'relaxed' ? ' (relaxed durability)' : ''}`,
  ];
  for (const account of accounts) {
    lines.push('', `  Connect to ${account.name} with`);
    if (isDevelopmentDefault(account, server)) lines.push('    UseDevelopmentStorage=true');
    lines.push(`    ${shownConnectionString(account, server, isPrivate)}`);
  }
  lines.push('', 'Press Ctrl+C, or send SIGTERM, to stop.', '');
  return lines.join('\n');
}

function isDevelopmentKey({ name, keys }: AccountSettings): boolean {
  return name === developmentAccount.name && keys[0] === developmentAccount.keys[0];
}

function isDevelopmentDefault(
  account: AccountSettings,
  { tableEndpoint, tablePort }: BannerOptions['server'],
): boolean {
  const isReachable = tableEndpoint.startsWith('http://127.0.0.1:');
  return isDevelopmentKey(account) && tablePort === defaultTablePort && isReachable;
}

/** A key that is not public never reaches a log. */
function shownConnectionString(
  account: AccountSettings,
  server: BannerOptions['server'],
  isPrivate: boolean,
): string {
  const text = server.connectionString(account.name);
  if (isPrivate || isDevelopmentKey(account)) return text;
  return text.replace(/AccountKey=[^;]*/, `AccountKey=<the key of ${account.name}>`);
}
