import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Exchange } from '../exchange/exchange.js';
import type { ApiVersionPolicy } from './api-version-policy.js';

const clientRequestIdCharactersMax = 1024;

/**
 * First stage: checks what every request must have. Splits the target without decoding it, because
 * signatures cover the bytes as sent (table-service §3.3, §10).
 */
export function receive(exchange: Exchange, versions: ApiVersionPolicy): void {
  const { path, query } = splitTarget(exchange.request.url ?? '/');
  exchange.path = path;
  exchange.queryText = query;
  exchange.clientRequestId = echoable(exchange.header('x-ms-client-request-id'));
  exchange.bodyBytesDeclared = declaredBodyBytes(exchange);
  exchange.host = parseHost(exchange.header('host'));
  const version = exchange.header('x-ms-version');
  exchange.version = versions.admit(version);
  exchange.isVersionChosen = version !== undefined;
}

/** Path and query string of a request target, undecoded; the query without its question mark. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const path = target.startsWith('/') ? target : withoutOrigin(target);
  const mark = path.indexOf('?');
  if (mark < 0) return { path, query: '' };
  return { path: path.slice(0, mark), query: path.slice(mark + 1) };
}

/** The path of an absolute target (`http://host/path`), as proxies send it. `*` has none. */
function withoutOrigin(target: string): string {
  const authority = target.indexOf('://');
  if (authority < 0) return '/';
  const slash = target.indexOf('/', authority + 3);
  const mark = target.indexOf('?', authority + 3);
  if (slash >= 0 && (mark < 0 || slash < mark)) return target.slice(slash);
  return mark < 0 ? '/' : `/${target.slice(mark)}`;
}

/**
 * A client request id to return; undefined when it is too long or not printable (table-service
 * §10.1).
 */
function echoable(id: string | undefined): string | undefined {
  if (id === undefined || id.length > clientRequestIdCharactersMax) return undefined;
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(id) ? id : undefined;
}

function declaredBodyBytes(exchange: Exchange): number {
  // The parser treats an empty value as absent: no body follows.
  if ((exchange.header('transfer-encoding') ?? '') !== '') return Infinity;
  const length = exchange.header('content-length');
  return length === undefined ? 0 : Number(length);
}

let lastHost = '';
const hostCharactersMax = 300;

/** Host names appear in answers, so only legal host characters are accepted. */
export function parseHost(text: string | undefined): string {
  if (text === undefined || text === '') throw new StorageError('HostInformationNotPresent');
  if (text === lastHost) return text;
  if (text.length > hostCharactersMax || !/^[A-Za-z0-9._:[\]%-]+$/.test(text)) {
    throw invalidHeader('Host', text);
  }
  lastHost = text;
  return text;
}
