import { isIP } from 'node:net';
import type { Connection } from './connection.js';
import { UsageError } from '../terminal/failure.js';
import { blobLocation, type BlobLocation } from '../arguments/blob-location.js';

/** A container or a blob of some storage account. */
export interface RemoteLocation {
  readonly connection: Connection;
  readonly place: BlobLocation;
  /** As it was given, with its signature; undefined for a place of the connection. */
  readonly url: string | undefined;
}

/**
 * Reads `container`, `container/name`, or the URL of one of them, which may have a signature. A URL
 * of the connected account without one is read with the key of the connection. Throws `UsageError`
 * that repeats no URL, which may contain a signature.
 */
export function remoteLocation(text: string, connection: Connection): RemoteLocation {
  if (!/^https?:\/\//i.test(text)) return { connection, place: blobLocation(text), url: undefined };
  if (!URL.canParse(text)) throw new UsageError('A URL of a blob cannot be read.');
  const url = new URL(text);
  if (url.username !== '' || url.hash !== '') {
    throw new UsageError('A URL of a blob has neither a user nor a fragment.');
  }
  const [first = '', ...rest] = url.pathname.slice(1).split('/');
  const isInPath = hasAccountInPath(url);
  const account = isInPath ? first : (url.hostname.split('.')[0] ?? '');
  const endpoint = isInPath ? `${url.origin}/${first}` : url.origin;
  const path = isInPath ? rest : [first, ...rest];
  const place = blobLocation(decoded(path.join('/')));
  const isSigned = url.searchParams.has('sig');
  if (!isSigned && endpoint === connection.endpoint) return { connection, place, url: text };
  const credential = { kind: 'sas', query: isSigned ? url.search.slice(1) : '' } as const;
  return { connection: { endpoint, account, credential }, place, url: text };
}

const emulatorPorts = /^1[01][01]0[0-4]$/;

/** As the official clients tell it (blob-service §1.1). */
function hasAccountInPath({ hostname, port }: URL): boolean {
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress || !hostname.includes('.') || emulatorPorts.test(port);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new UsageError('The path of a URL of a blob is not percent-encoded UTF-8.');
  }
}
