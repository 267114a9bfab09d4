import { randomUUID, type KeyObject } from 'node:crypto';
import { signRequest } from '../src/wire/auth/shared-key/shared-key.js';

/** The address of a server, and the account that signs the requests of the load. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly account: { readonly name: string; readonly key: KeyObject };
}

const version = '2019-02-02';
const userAgent = 'azsdk-js-data-tables/13.3.2 core-rest-pipeline/1.24.0 Node/20 (Linux; x64)';

/** The kinds of requests to which the official client gives different headers. */
export type RequestShape = 'read' | 'insert' | 'merge' | 'batch' | 'properties';

const shapeMethods: Readonly<Record<RequestShape, string>> = {
  read: 'GET',
  insert: 'POST',
  merge: 'PATCH',
  batch: 'POST',
  properties: 'PUT',
};

const shapeHeaders: Readonly<Record<RequestShape, readonly string[]>> = {
  read: ['Accept: application/json;odata=minimalmetadata', 'DataServiceVersion: 3.0'],
  insert: [
    'Content-Type: application/json;odata=nometadata',
    'Accept: application/json;odata=minimalmetadata',
    'DataServiceVersion: 3.0',
    'Prefer: return-no-content',
  ],
  merge: [
    'Content-Type: application/json',
    'Accept: application/json',
    'DataServiceVersion: 3.0',
    'If-Match: *',
  ],
  properties: ['Accept: application/xml'],
  batch: [
    'accept: application/json',
    'DataServiceVersion: 3.0;',
    'MaxDataServiceVersion: 3.0;NetFx',
    'Accept-Charset: UTF-8',
  ],
};

/**
 * The bytes of one signed request, headers as the official JavaScript client sends them.
 * `path` begins after the account and may carry a query. Good for 15 minutes, and as often as
 * one likes: the signature covers date and path, never the body.
 */
export function signedRequest(
  target: Target,
  shape: RequestShape,
  path: string,
  body: Buffer | string = '',
  contentType?: string,
): Buffer {
  const date = new Date().toUTCString();
  const method = shapeMethods[shape];
  const fullPath = `/${target.account.name}${path}`;
  const authorization = signRequest('SharedKeyLite', target.account, {
    form: 'table',
    method,
    rawPath: fullPath.replace(/\?.*$/s, ''),
    comp: new URLSearchParams(path.replace(/^[^?]*/s, '')).get('comp') ?? undefined,
    contentMd5: undefined,
    contentType,
    xMsDate: date,
  });
  const lines = [
    `${method} ${fullPath} HTTP/1.1`,
    ...shapeHeaders[shape],
    ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
    `x-ms-version: ${version}`,
    `User-Agent: ${userAgent}`,
    `x-ms-client-request-id: ${randomUUID()}`,
    `x-ms-date: ${date}`,
    ...(shape === 'read' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    `authorization: ${authorization}`,
    `Host: ${target.host}:${target.port}`,
    'Connection: keep-alive',
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)]);
}
