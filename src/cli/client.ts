import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { systemRandomness } from '../base/randomness.js';
import { unreachable } from '../base/invariant.js';
import type { Entity } from '../wire/edm/value.js';
import { signRequest } from '../wire/auth/shared-key.js';
import { composeBatch, type ComposedOperation } from '../wire/batch/compose.js';
import { entityPath } from '../wire/odata/resource.js';
import type { Connection } from './connection.js';
import { entityJson } from './entity-json.js';
import { codeOf, messageOf } from './failure.js';
import { batchFailure, ConnectionError, ServiceError, serviceErrorOf } from './service-error.js';

export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'MERGE' | 'DELETE';
  /** Behind the endpoint, percent-encoded, without a slash in front. */
  readonly path: string;
  /** Percent-encoded. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface ClientResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** How an entity is written where one with its keys may exist. */
export type WriteMode = 'insert' | 'replace' | 'merge';

const responseBytesMax = 64 * 1024 * 1024;
const timeoutMs = 90_000;
const apiVersion = '2019-02-02';
const noMetadata = 'application/json;odata=nometadata';

/** A table service on the other side of HTTP. Nothing is retried here. */
export class TableClient {
  readonly connection: Connection;
  readonly #agent: HttpAgent;
  readonly #isSecure: boolean;
  readonly #url: URL;

  constructor(connection: Connection, options: { readonly socketsMax?: number } = {}) {
    this.connection = connection;
    this.#url = new URL(connection.endpoint);
    this.#isSecure = this.#url.protocol === 'https:';
    const agentOptions = { keepAlive: true, maxSockets: options.socketsMax ?? 8 };
    this.#agent = this.#isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  }

  /** Ends idle connections, so that the process can end. */
  close(): void {
    this.#agent.destroy();
  }

  /** True when it did not exist yet. */
  async createTable(table: string): Promise<boolean> {
    try {
      await this.request({
        method: 'POST',
        path: 'Tables',
        headers: { 'Content-Type': 'application/json', Prefer: 'return-no-content' },
        body: JSON.stringify({ TableName: table }),
      });
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TableAlreadyExists') return false;
      throw error;
    }
  }

  /** One page of a query; `query` is the encoded query string. */
  queryPage(table: string, query: string): Promise<ClientResponse> {
    return this.request({
      method: 'GET',
      path: `${table}()`,
      query,
      headers: { Accept: 'application/json;odata=minimalmetadata' },
    });
  }

  async write(table: string, entity: Entity, mode: WriteMode): Promise<void> {
    const { method, path, body } = writeRequest(table, entity, mode);
    await this.request({
      method,
      path,
      body,
      headers: { 'Content-Type': 'application/json', Prefer: 'return-no-content' },
    });
  }

  /** Executes an entity group transaction: all of it happens, or none and `ServiceError`. */
  async transact(operations: readonly ComposedOperation[]): Promise<void> {
    const { contentType, body } = composeBatch(operations, systemRandomness);
    const response = await this.request({
      method: 'POST',
      path: '$batch',
      headers: { 'Content-Type': contentType },
      body,
    });
    const failure = batchFailure(response.body);
    if (failure !== undefined) throw failure;
  }

  /** One operation of a transaction, with its path on this endpoint. */
  operation(table: string, entity: Entity, mode: WriteMode, body: string): ComposedOperation {
    const { method, path } = writeTarget(table, entity, mode);
    return {
      method,
      target: `${this.connection.endpoint}/${path}`,
      headers: operationHeaders,
      body,
    };
  }

  /** Throws `ServiceError` for an answer that is no success, `ConnectionError` without one. */
  async request(options: ClientRequest): Promise<ClientResponse> {
    const response = await this.#send(options);
    if (response.status >= 400) throw serviceErrorOf(response.status, response.body);
    return response;
  }

  #send(options: ClientRequest): Promise<ClientResponse> {
    const { method, body } = options;
    const rawPath = `${this.#url.pathname.replace(/\/$/, '')}/${options.path}`;
    const headers = this.#headers(options, rawPath);
    const send = this.#isSecure ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(this.#connectionError(error));
      const request = send(
        {
          protocol: this.#url.protocol,
          hostname: this.#url.hostname.replace(/^\[|\]$/g, ''),
          port: this.#url.port,
          path: pathWithQuery(rawPath, options.query, this.connection),
          method,
          headers,
          agent: this.#agent,
          timeout: timeoutMs,
        },
        (response) => {
          readBody(response).then(
            (text) =>
              resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
            fail,
          );
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer in ${timeoutMs} ms`)));
      request.on('error', fail);
      request.end(body);
    });
  }

  #headers({ method, headers = {}, body }: ClientRequest, rawPath: string): Record<string, string> {
    const xMsDate = new Date().toUTCString();
    const all: Record<string, string> = {
      Accept: noMetadata,
      DataServiceVersion: '3.0',
      MaxDataServiceVersion: '3.0;NetFx',
      'x-ms-version': apiVersion,
      'x-ms-date': xMsDate,
      ...headers,
    };
    if (body !== undefined) all['Content-Length'] = String(Buffer.byteLength(body));
    const { account, credential } = this.connection;
    if (credential.kind === 'shared-key') {
      const contentType = headers['Content-Type'];
      all['Authorization'] = signRequest(
        'SharedKeyLite',
        { name: account, key: credential.key },
        { method, rawPath, comp: undefined, contentMd5: undefined, contentType, xMsDate },
      );
    }
    return all;
  }

  #connectionError(error: unknown): ConnectionError {
    const { endpoint } = this.connection;
    const text =
      codeOf(error) === 'ECONNREFUSED'
        ? `Nothing listens at ${endpoint}. Start the server there with: tabularium start`
        : `The connection to ${endpoint} failed: ${messageOf(error)}`;
    return new ConnectionError(text, { cause: error });
  }
}

const operationHeaders: ComposedOperation['headers'] = [
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json;odata=minimalmetadata'],
  ['Prefer', 'return-no-content'],
  ['DataServiceVersion', '3.0;'],
];

function writeTarget(
  table: string,
  { partitionKey, rowKey }: Entity,
  mode: WriteMode,
): { readonly method: 'POST' | 'PUT' | 'MERGE'; readonly path: string } {
  switch (mode) {
    case 'insert':
      return { method: 'POST', path: table };
    case 'replace':
      return { method: 'PUT', path: entityPath(table, partitionKey, rowKey) };
    case 'merge':
      return { method: 'MERGE', path: entityPath(table, partitionKey, rowKey) };
    default:
      return unreachable(mode);
  }
}

function writeRequest(
  table: string,
  entity: Entity,
  mode: WriteMode,
): { readonly method: 'POST' | 'PUT' | 'MERGE'; readonly path: string; readonly body: string } {
  return { ...writeTarget(table, entity, mode), body: entityJson(entity) };
}

function pathWithQuery(
  rawPath: string,
  query: string | undefined,
  { credential }: Connection,
): string {
  const parts = [query, credential.kind === 'sas' ? credential.query : undefined];
  const given = parts.filter((part) => part !== undefined && part !== '');
  return given.length === 0 ? rawPath : `${rawPath}?${given.join('&')}`;
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > responseBytesMax) throw new Error('the answer is larger than 64 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
