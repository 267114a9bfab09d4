import { createSecretKey, type KeyObject } from 'node:crypto';
import {
  endpointMember,
  serviceNames,
  services,
  type ServiceName,
} from '../../model/services/services.js';
import { developmentAccount } from '../../services/accounts/directory.js';
import { UsageError } from '../terminal/failure.js';

export type ClientCredential =
  | { readonly kind: 'shared-key'; readonly key: KeyObject }
  /** The query string of a shared access signature, without its question mark. */
  | { readonly kind: 'sas'; readonly query: string };

/** The endpoint of a storage service and the credential. */
export interface Connection {
  /** Scheme, authority and base path, without a trailing slash. */
  readonly endpoint: string;
  readonly account: string;
  readonly credential: ClientCredential;
}

/** The emulator's development account on a machine, by default this one. */
export function developmentConnection(
  service: ServiceName,
  machine = 'http://127.0.0.1',
): Connection {
  const { name, keys } = developmentAccount;
  return {
    endpoint: `${machine}:${services[service].emulatorPort}/${name}`,
    account: name,
    credential: sharedKey(keys[0] ?? ''),
  };
}

/**
 * Reads a storage connection string, as the portal, Azurite and this server print it, for one
 * service. Throws `UsageError` with a message that never repeats the string, which contains a key.
 */
export function parseConnectionString(text: string, service: ServiceName): Connection {
  const settings = settingsOf(text);
  if (settings.get('usedevelopmentstorage')?.toLowerCase() === 'true') {
    const proxy = settings.get('developmentstorageproxyuri');
    return developmentConnection(service, proxy && trimmedUrl(proxy));
  }
  const endpoint = endpointOf(settings, service);
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

const endpointMembers = new Set(serviceNames.map((service) => `${service}endpoint`));

function endpointOf(settings: ReadonlyMap<string, string>, service: ServiceName): string {
  const name = endpointMember(service);
  const explicit = settings.get(name.toLowerCase());
  if (explicit !== undefined) return trimmedUrl(explicit);
  const suffix = settings.get('endpointsuffix');
  const hasOther = Array.from(settings.keys()).some((key) => endpointMembers.has(key));
  if (suffix === undefined && hasOther) {
    // A connection string for another server must not fall back to the cloud.
    throw new UsageError(`The connection string has endpoints, but no ${name}.`);
  }
  const account = settings.get('accountname');
  if (account === undefined) {
    throw new UsageError(`The connection string has neither a ${name} nor an AccountName.`);
  }
  const protocol = settings.get('defaultendpointsprotocol') ?? 'https';
  return trimmedUrl(`${protocol}://${account}.${service}.${suffix ?? 'core.windows.net'}`);
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
