import type { Headers } from './request-bytes.js';
import { signatureOf } from './signature.js';
import type { SignableRequest } from './signing-client.js';

// Written from queue-service §4.1 and §4.2 without code of the server, so that they cannot share a
// mistake.

/** The headers that have a line of their own in a SharedKey signature, in their order. */
const signedHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
];

/** Names in lower case and ordinal order; the values of a repeated header are joined by commas. */
function signable(headers: Headers): (readonly [name: string, value: string])[] {
  return Object.entries(headers)
    .flatMap(([name, value]): [string, string][] => {
      if (value === undefined) return [];
      const text = typeof value === 'string' ? value : value.join(',');
      return [[name.toLowerCase(), text.trim()]];
    })
    .sort(([left], [right]) => (left < right ? -1 : 1));
}

function canonicalHeaders(headers: Headers): string {
  const all = signable(headers);
  const version = new Map(all).get('x-ms-version') ?? '';
  return all
    .filter(
      ([name, value]) => name.startsWith('x-ms-') && (value !== '' || version >= '2016-05-31'),
    )
    .map(([name, value]) => `${name}:${value}\n`)
    .join('');
}

/** A percent sign without digits is kept: a server must refuse the request anyway. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function canonicalQuery(query: string): string {
  const values = new Map<string, string[]>();
  for (const option of query.split('&').filter((each) => each !== '')) {
    const equals = option.indexOf('=');
    const name = equals < 0 ? option : option.slice(0, equals);
    const value = equals < 0 ? '' : option.slice(equals + 1);
    const key = decoded(name).toLowerCase();
    values.set(key, [...(values.get(key) ?? []), decoded(value)]);
  }
  return [...values]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, each]) => `\n${name}:${each.toSorted().join(',')}`)
    .join('');
}

export function queueStringToSign(request: SignableRequest): string {
  const { account, headers, method, target } = request;
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  const values = new Map(signable(headers));
  const version = values.get('x-ms-version') ?? '';
  if (values.has('x-ms-date')) values.delete('date');
  if (version >= '2015-02-21' && values.get('content-length') === '0') {
    values.delete('content-length');
  }
  const resource = `/${account}${path}`;
  if (request.scheme === 'SharedKeyLite') {
    const lines = ['content-md5', 'content-type', 'date'].map((name) => values.get(name) ?? '');
    const comp = /(?:^|&)comp=([^&]*)/i.exec(query)?.[1];
    const lite = `${resource}${comp === undefined ? '' : `?comp=${decoded(comp)}`}`;
    return `${[method, ...lines].join('\n')}\n${canonicalHeaders(headers)}${lite}`;
  }
  const lines = signedHeaders.map((name) => values.get(name) ?? '');
  const tail = `${canonicalHeaders(headers)}${resource}${canonicalQuery(query)}`;
  return `${[method, ...lines].join('\n')}\n${tail}`;
}

export function queueAuthorizationOf(request: SignableRequest): string {
  const signature = signatureOf(request.key, queueStringToSign(request));
  return `${request.scheme} ${request.account}:${signature}`;
}
