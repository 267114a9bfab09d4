import type { SimRandom } from '../support/sim-random.js';
import type { SigningClient, WireRequest } from '../wire/kit/signing-client.js';
import { developmentAccount } from '../wire/kit/signature.js';
import type { Credential } from './credentials.js';
import { encodedXml } from './documents.js';
import { otherAccount } from './guarded.js';
import type { FuzzRequest } from './requests.js';
import { sayable } from './splice.js';

/**
 * The bytes of a request. A request of the owner is signed in its final form, so that it passes
 * authentication; others carry their own credentials.
 */
export function bytesOf(
  random: SimRandom,
  client: SigningClient<WireRequest>,
  request: FuzzRequest,
  credential: Credential,
): Buffer {
  const { method, query, headers } = request;
  const { accountPath, authority, isAbsolute } = addressing(random, request.service);
  const options = query.map(([name, value]) => `${name}=${encoded(random, value)}`);
  if (credential.query !== '') options.push(onRequestLine(credential.query));
  const search = options.length === 0 ? '' : `?${options.join('&')}`;
  const target = `${accountPath}${onRequestLine(request.path)}${search}`;
  const { isOwner, authorization } = credential;
  const body = bodyOf(random, request.body);
  const isChunked = body !== undefined && body.length > 0 && random.chance(0.1);
  const bytes = client.bytes({
    method,
    target,
    headers: {
      ...(authority === undefined ? {} : { Host: authority }),
      ...(isOwner || authorization === undefined ? {} : { Authorization: authorization }),
      ...headers,
      ...(isChunked ? { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' } : {}),
    },
    ...(isOwner ? {} : { auth: 'none' }),
    ...(body === undefined ? {} : { body: isChunked ? chunked(random, body) : body }),
  });
  return isAbsolute ? withAbsoluteTarget(bytes, method, client.authority) : bytes;
}

interface Addressing {
  /** Before the path, on the request line. */
  readonly accountPath: string;
  /** What `Host` says instead of the address of the server. */
  readonly authority?: string;
  readonly isAbsolute?: boolean;
}

function addressing(random: SimRandom, service: FuzzRequest['service']): Addressing {
  const accountPath = `/${developmentAccount}`;
  const hostOf = (account: string) => `${account}.${service}.example`;
  switch (
    random.weighted({ path: 90, secondary: 4, host: 5, absolute: 2, other: 3, both: 2, none: 1 })
  ) {
    case 'path':
      return { accountPath };
    case 'secondary':
      return { accountPath: `${accountPath}-secondary` };
    case 'host':
      return { accountPath: '', authority: hostOf(developmentAccount) };
    case 'absolute':
      return { accountPath, isAbsolute: true };
    case 'other':
      return random.chance(0.5)
        ? { accountPath: `/${otherAccount}` }
        : { accountPath: '', authority: hostOf(otherAccount) };
    case 'both':
      return { accountPath, authority: hostOf(otherAccount) };
    default:
      return { accountPath: '' };
  }
}

function withAbsoluteTarget(bytes: Buffer, method: string, authority: string): Buffer {
  const start = `${method} http://${authority}`;
  return Buffer.concat([Buffer.from(start), bytes.subarray(method.length + 1)]);
}

/**
 * White space and control characters would end the request line. Other tests cover malformed HTTP.
 */
function onRequestLine(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]/gu, encodeURIComponent)
    .replaceAll('?', '%3F')
    .slice(0, 8000);
}

function encoded(random: SimRandom, text: string): string {
  const value = sayable(text);
  return random.chance(0.9) ? encodeURIComponent(value) : onRequestLine(value);
}

function bodyOf(random: SimRandom, text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined;
  return text.startsWith('<') && random.chance(0.04) ? encodedXml(random, text) : Buffer.from(text);
}

function chunked(random: SimRandom, bytes: Buffer): Buffer {
  const cut = random.between(1, bytes.length);
  const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length > 0);
  return Buffer.concat([
    ...pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
}
