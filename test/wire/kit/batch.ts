import assert from 'node:assert/strict';
import { entityPath, type WireClient } from './client.js';
import type { Headers } from './request-bytes.js';
import type { WireResponse } from './response.js';

/** One operation of a changeset, or the query of a batch. */
export interface Operation {
  readonly method: string;
  /** Without the account, like the path of a request. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const batchBoundary = 'batch_a1e9d677-b28b-435e-a89e-87e6a768a431';
const changesetBoundary = 'changeset_8a28b620-b4bb-458c-a177-0959fb14c977';
const partHead = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n';

export function insertOperation(table: string, entity: object, prefer = true): Operation {
  return {
    method: 'POST',
    path: `/${table}`,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json;odata=minimalmetadata',
      ...(prefer ? { Prefer: 'return-no-content' } : {}),
    },
    body: JSON.stringify(entity),
  };
}

export function writeOperation(
  method: 'PUT' | 'MERGE' | 'PATCH',
  table: string,
  keys: readonly [string, string],
  properties: object,
  ifMatch?: string,
): Operation {
  return {
    method,
    path: entityPath(table, keys[0], keys[1]),
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json;odata=minimalmetadata',
      ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
    },
    body: JSON.stringify(properties),
  };
}

export function deleteOperation(
  table: string,
  keys: readonly [string, string],
  ifMatch = '*',
): Operation {
  return {
    method: 'DELETE',
    path: entityPath(table, keys[0], keys[1]),
    headers: { Accept: 'application/json;odata=minimalmetadata', 'If-Match': ifMatch },
  };
}

/** The bytes of one part's HTTP request, as documented in table-service §9.2. */
export function innerRequest(base: string, operation: Operation): string {
  const headers = Object.entries(operation.headers ?? {}).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const head = [`${operation.method} ${base}${operation.path} HTTP/1.1`, ...headers].join('\r\n');
  return `${head}\r\n\r\n${operation.body ?? ''}\r\n`;
}

/** A whole batch body with one changeset (table-service §9.2). */
export function changesetBody(base: string, operations: readonly Operation[]): string {
  const parts = operations.map(
    (operation) => `--${changesetBoundary}\r\n${partHead}${innerRequest(base, operation)}`,
  );
  return (
    `--${batchBoundary}\r\nContent-Type: multipart/mixed; boundary=${changesetBoundary}\r\n\r\n` +
    `${parts.join('')}--${changesetBoundary}--\r\n--${batchBoundary}--\r\n`
  );
}

/** A whole batch body with operations directly under the batch boundary (table-service §9.4). */
export function plainBatchBody(base: string, operations: readonly Operation[]): string {
  const parts = operations.map(
    (operation) => `--${batchBoundary}\r\n${partHead}${innerRequest(base, operation)}`,
  );
  return `${parts.join('')}--${batchBoundary}--\r\n`;
}

/** Sends a body to `$batch`. */
export function sendBatch(
  client: WireClient,
  body: string | Buffer,
  contentType = `multipart/mixed; boundary=${batchBoundary}`,
  headers: Headers = {},
): Promise<WireResponse> {
  return client.send({
    method: 'POST',
    path: '/$batch',
    body,
    headers: { 'Content-Type': contentType, MaxDataServiceVersion: '3.0;NetFx', ...headers },
  });
}

export function sendChangeset(
  client: WireClient,
  operations: readonly Operation[],
): Promise<WireResponse> {
  return sendBatch(client, changesetBody(client.base, operations));
}

export interface Part {
  readonly status: number;
  /** From the status line to the end of the header, line ends included. */
  readonly head: string;
  /** The bytes from the empty line to the next boundary. */
  readonly body: string;
}

export interface PartError {
  readonly status: number;
  readonly code: string;
  /** Without request id and time. */
  readonly message: string;
}

const guid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const outerType = new RegExp(`^multipart/mixed; boundary=(batchresponse_${guid})$`);

function outerContent(response: WireResponse): string {
  assert.equal(response.status, 202, response.text);
  assert.equal(response.reason, 'Accepted');
  const boundary = outerType.exec(response.header('content-type') ?? '')?.[1];
  assert.ok(boundary, `content type ${response.header('content-type')}`);
  const text = response.text;
  const close = `--${boundary}--\r\n`;
  assert.ok(text.startsWith(`--${boundary}\r\n`), text);
  assert.ok(text.endsWith(close), text);
  return text.slice(boundary.length + 4, -close.length);
}

function partOf(text: string): Part {
  assert.ok(text.startsWith(partHead), `part head of ${text}`);
  const http = text.slice(partHead.length);
  const end = http.indexOf('\r\n\r\n');
  assert.ok(end > 0, `no end of header in ${http}`);
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(http)?.[1];
  assert.ok(status, http);
  return { status: Number(status), head: http.slice(0, end + 2), body: http.slice(end + 4) };
}

/**
 * The parts of a changeset response, after a byte-exact check of its framing (table-service §9.3).
 */
export function changesetParts(response: WireResponse): Part[] {
  const content = outerContent(response);
  const open = new RegExp(
    `^Content-Type: multipart/mixed; boundary=(changesetresponse_${guid})\r\n\r\n`,
  ).exec(content);
  assert.ok(open, `no changeset response: ${content}`);
  const inner = content.slice(open[0].length);
  const close = `--${open[1]}--\r\n`;
  assert.ok(inner.endsWith(close), inner);
  const pieces = inner.slice(0, -close.length).split(`--${open[1]}\r\n`);
  assert.equal(pieces.shift(), '');
  return pieces.map(partOf);
}

/** The single part directly in a batch response (table-service §9.4, §9.6). */
export function plainPart(response: WireResponse): Part {
  return partOf(outerContent(response));
}

/** The error in the single part of a failed changeset (table-service §9.5). */
export function changesetError(response: WireResponse): PartError {
  const parts = changesetParts(response);
  assert.equal(parts.length, 1, `one part for the failure: ${response.text}`);
  const [part] = parts;
  assert.ok(part);
  return jsonErrorOf(part);
}

export function jsonErrorOf(part: Part): PartError {
  const { code, message } = (
    JSON.parse(part.body) as {
      'odata.error': { readonly code: string; readonly message: { readonly value: string } };
    }
  )['odata.error'];
  const stamp = new RegExp(`\nRequestId:${guid}\nTime:\\d{4}-\\d\\d-\\d\\dT[\\d:]{8}\\.\\d{7}Z$`);
  assert.match(message.value, stamp);
  return { status: part.status, code, message: message.value.replace(stamp, '') };
}

/** Checks for a malformed-batch error (table-service §9.6). */
export function assertMalformedBatch(response: WireResponse): void {
  const part = plainPart(response);
  assert.equal(part.status, 400, part.body);
  assert.match(part.head, /^Content-Type: application\/xml;charset=utf-8\r\n/m);
  assert.match(part.body, /<code>InvalidInput<\/code>/);
  assert.match(part.body, />An error occurred while processing this request\.\n/);
}

/** Checks for success and returns the parts. */
export function assertChangesetDone(response: WireResponse, statuses: readonly number[]): Part[] {
  const parts = changesetParts(response);
  assert.deepEqual(
    parts.map(({ status }) => status),
    statuses,
    response.text,
  );
  return parts;
}
