import { createSecretKey, type KeyObject } from 'node:crypto';
import { developmentAccount } from '../services/accounts/directory.js';
import { UsageError } from './failure.js';

export type ClientCredential =
  | { readonly kind: 'shared-key'; readonly key: KeyObject }
  /** The query string of a shared access signature, without its question mark. */
  | { readonly kind: 'sas'; readonly query: string };

/** Where a table service is and how to prove who asks. */
export interface Connection {
  /** Scheme, authority and base path, without a slash at the end. */
  readonly endpoint: string;
  readonly account: string;
  readonly credential: ClientCredential;
}

export const defaultTablePort = 10_002;

export function developmentConnection(origin = `http://127.0.0.1:${defaultTablePort}`): Connection {
  const { name, keys } = developmentAccount;
  return {
    endpoint: `${origin}/${name}`,
    account: name,
    credential: sharedKey(keys[0] ?? ''),
  };
}

/**
 * Reads a storage connection string, as the portal, Azurite and this server give it. Throws
 * `UsageError`; its message never repeats the string, which holds a key.
 */
export function parseConnectionString(text: string): Connection {
  const settings = settingsOf(text);
  if (settings.get('usedevelopmentstorage')?.toLowerCase() === 'true') {
    const proxy = settings.get('developmentstorageproxyuri');
    return developmentConnection(proxy && `${trimmedUrl(proxy)}:${defaultTablePort}`);
  }
  const endpoint = endpointOf(settings);
  const account = settings.get('accountname') ?? accountOf(endpoint);
  const key = settings.get('accountkey');
  if (key !== undefined) return { endpoint, account, credential: sharedKey(key) };
  const signature = settings.get('sharedaccesssignature');
  if (signature === undefined) {
    throw new UsageError(
      'The connection string has neither an AccountKey nor a SharedAccessSignature.',
    );
  }
  return { endpoint, account, credential: { kind: 'sas', query: signature.replace(/^\?/, '') } };
}

function settingsOf(text: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const part of text.trim().split(';')) {
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    if (equals <= 0) {
      throw new UsageError('The connection string is not a list of Name=value parts.');
    }
    settings.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim());
  }
  if (settings.size === 0) throw new UsageError('The connection string is empty.');
  return settings;
}

function endpointOf(settings: ReadonlyMap<string, string>): string {
  const explicit = settings.get('tableendpoint');
  if (explicit !== undefined) return trimmedUrl(explicit);
  const account = settings.get('accountname');
  if (account === undefined) {
    throw new UsageError('The connection string has neither a TableEndpoint nor an AccountName.');
  }
  const protocol = settings.get('defaultendpointsprotocol') ?? 'https';
  const suffix = settings.get('endpointsuffix') ?? 'core.windows.net';
  return trimmedUrl(`${protocol}://${account}.table.${suffix}`);
}

function trimmedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError('An endpoint of the connection string is no http or https URL.');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** The account in the path of an emulator's endpoint, or else the first label of the host. */
function accountOf(endpoint: string): string {
  const url = new URL(endpoint);
  return url.pathname.split('/')[1] || (url.hostname.split('.')[0] ?? '');
}

function sharedKey(key: string): ClientCredential {
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length === 0) throw new UsageError('The AccountKey of the connection is not base64.');
  return { kind: 'shared-key', key: createSecretKey(bytes) };
}
