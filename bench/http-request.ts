import { createHmac, randomUUID } from 'node:crypto';

/** Where a server listens and as whom the load signs its requests. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly account: string;
  /** Base64. */
  readonly key: string;
}

const version = '2019-02-02';
const userAgent = 'azsdk-js-data-tables/13.3.2 core-rest-pipeline/1.24.0 Node/20 (Linux; x64)';

/** Tells the kinds of request apart by the headers that the official client gives them. */
export type RequestShape = 'read' | 'insert' | 'batch';

const shapeHeaders: Readonly<Record<RequestShape, readonly string[]>> = {
  read: ['Accept: application/json;odata=minimalmetadata', 'DataServiceVersion: 3.0'],
  insert: [
    'Content-Type: application/json;odata=nometadata',
    'Accept: application/json;odata=minimalmetadata',
    'DataServiceVersion: 3.0',
    'Prefer: return-no-content',
  ],
  batch: [
    'accept: application/json',
    'DataServiceVersion: 3.0;',
    'MaxDataServiceVersion: 3.0;NetFx',
    'Accept-Charset: UTF-8',
  ],
};

/** The base64 signature of a SharedKeyLite request (spec table-service §8.1). */
function sign(target: Target, date: string, path: string): string {
  return createHmac('sha256', Buffer.from(target.key, 'base64'))
    .update(`${date}\n/${target.account}${path}`)
    .digest('base64');
}

/**
 * The bytes of one signed request, headers as the official JavaScript client sends them.
 * `path` begins after the account and may carry a query. Good for 15 minutes, and as often as
 * one likes: the signature covers date and path, never the body.
 */
export function signedRequest(
  target: Target,
  shape: RequestShape,
  path: string,
  body: string = '',
  contentType?: string,
): Buffer {
  const date = new Date().toUTCString();
  const fullPath = `/${target.account}${path}`;
  const signedPath = fullPath.split('?', 1).join('');
  const lines = [
    `${shape === 'read' ? 'GET' : 'POST'} ${fullPath} HTTP/1.1`,
    ...shapeHeaders[shape],
    ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
    `x-ms-version: ${version}`,
    `User-Agent: ${userAgent}`,
    `x-ms-client-request-id: ${randomUUID()}`,
    `x-ms-date: ${date}`,
    ...(shape === 'read' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    `authorization: SharedKeyLite ${target.account}:${sign(target, date, signedPath)}`,
    `Host: ${target.host}:${target.port}`,
    'Connection: keep-alive',
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
