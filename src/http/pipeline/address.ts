import { StorageError } from '../../model/errors/storage-error.js';
import { secondarySuffix } from '../../model/services/services.js';
import type { Account, AccountDirectory } from '../../services/accounts/directory.js';
import type { Address, Exchange } from '../exchange/exchange.js';

/** A longer name is not shown in the error for an unknown account. */
const nameCharactersMax = 63;

interface Found {
  readonly account: Account;
  readonly secondary: boolean;
}

/** Second stage: finds the account of the request. */
export function address(exchange: Exchange, accounts: AccountDirectory): void {
  const found = resolveAddress(exchange.path, exchange.host, accounts);
  exchange.account = found.account;
  exchange.secondary = found.secondary;
  exchange.resourcePath = found.resourcePath;
  exchange.base = `${exchange.protocol}://${exchange.host}${found.accountPath}`;
}

/**
 * Looks for the account first as the first segment of the path, then as the first label of the
 * host. So any host name works: an address, `localhost`, a container's name, `account.example`
 * (table-service §1.1). Throws `ResourceNotFound`, which names the candidates.
 */
export function resolveAddress(path: string, host: string, accounts: AccountDirectory): Address {
  const end = endOfSegment(path);
  const segment = path.slice(1, end);
  const inPath = find(segment, accounts);
  if (inPath !== undefined) {
    const { account, secondary } = inPath;
    const resourcePath = end === path.length ? '/' : path.slice(end);
    return { account, secondary, accountPath: `/${segment}`, resourcePath };
  }
  const label = firstLabel(host);
  const inHost = find(label, accounts);
  if (inHost === undefined) throw unknownAccount([segment, label]);
  return { ...inHost, accountPath: '', resourcePath: path };
}

/** What a path and host address; undefined when they address no account. */
export function addressIn(
  path: string,
  host: string,
  accounts: AccountDirectory,
): Address | undefined {
  try {
    return resolveAddress(path, host, accounts);
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

function endOfSegment(path: string): number {
  const slash = path.indexOf('/', 1);
  return slash < 0 ? path.length : slash;
}

const ipv4 = /^\d+\.\d+\.\d+\.\d+(?::|$)/;

/** `account` of `Account.table.example:10002`, a name in any case; an address has no label. */
function firstLabel(host: string): string {
  return ipv4.test(host) ? '' : (/^[^.:[]*/.exec(host)?.[0] ?? '').toLowerCase();
}

function find(name: string, accounts: AccountDirectory): Found | undefined {
  const account = accounts.find(name);
  if (account !== undefined) return { account, secondary: false };
  if (!name.endsWith(secondarySuffix)) return undefined;
  const primary = accounts.find(name.slice(0, -secondarySuffix.length));
  return primary && { account: primary, secondary: true };
}

/** Names the candidates but not the existing accounts, because the caller is not authenticated. */
function unknownAccount(tried: readonly string[]): StorageError {
  const names = [...new Set(tried.filter((name) => name !== ''))];
  const asked =
    names.length === 0 ? 'The request names no account' : `There is no account ${either(names)}`;
  return new StorageError('ResourceNotFound', {
    message: `The specified resource does not exist. ${asked}.`,
  });
}

function either(names: readonly string[]): string {
  return names.map((name) => `'${name.slice(0, nameCharactersMax)}'`).join(' or ');
}
