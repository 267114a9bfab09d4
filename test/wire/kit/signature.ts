import { createHmac } from 'node:crypto';

// Written from table-service §8.1 without code of the server, so that they cannot share a mistake.

export const developmentAccount = 'devstoreaccount1';
export const developmentKey =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export type Scheme = 'SharedKey' | 'SharedKeyLite';

export interface SignedRequest {
  readonly scheme: Scheme;
  readonly account: string;
  /** Base64, as in connection strings. */
  readonly key: string;
  readonly method: string;
  /** Path and query as on the request line. */
  readonly target: string;
  readonly date: string;
  readonly contentMd5?: string;
  readonly contentType?: string;
}

export function signatureOf(key: string, stringToSign: string): string {
  return createHmac('sha256', Buffer.from(key, 'base64')).update(stringToSign).digest('base64');
}

export function stringToSign(request: SignedRequest): string {
  const [path = '', query = ''] = request.target.split('?', 2);
  const comp = query.split('&').find((option) => option.startsWith('comp='));
  const resource = `/${request.account}${path}${comp === undefined ? '' : `?${comp}`}`;
  if (request.scheme === 'SharedKeyLite') return `${request.date}\n${resource}`;
  const { method, contentMd5 = '', contentType = '', date } = request;
  return [method, contentMd5, contentType, date, resource].join('\n');
}

export function authorizationOf(request: SignedRequest): string {
  const signature = signatureOf(request.key, stringToSign(request));
  return `${request.scheme} ${request.account}:${signature}`;
}
