import { createHmac, randomUUID } from 'node:crypto';
import type { Target } from './http-request.js';

const version = '2026-02-06';
/** The headers that the official clients of a service send with every request. */
const clients = {
  queue: {
    userAgent:
      'azsdk-js-azure-storage-queue/12.30.0 core-rest-pipeline/1.24.0 Node/20 (Linux; x64)',
    contentType: 'application/xml; charset=UTF-8',
  },
  blob: {
    userAgent: 'azsdk-js-azure-storage-blob/12.32.0 core-rest-pipeline/1.24.0 Node/20 (Linux; x64)',
    contentType: 'application/octet-stream',
  },
} as const;
/** The parameter that the official client of queues sends with every request. */
export const timeoutParameter = ['timeout', '30'] as const;

type Pair = readonly [name: string, value: string];

export interface StorageRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** After the account. */
  readonly path: string;
  /** Decoded, in ordinal order of their names. */
  readonly query?: readonly Pair[];
  /** `x-ms-` headers of the operation: in ordinal order, and before `x-ms-client-request-id`. */
  readonly headers?: readonly Pair[];
  readonly body?: string | Buffer;
}

/**
 * Signs requests to queues and blobs with SharedKey as the official JavaScript clients do, headers
 * included. The date is that of its making: good for 15 minutes.
 */
export class StorageSigner {
  readonly #target: Target;
  readonly #client: (typeof clients)[keyof typeof clients];
  readonly #date = new Date().toUTCString();
  readonly #requestId = randomUUID();

  constructor(target: Target, service: keyof typeof clients) {
    this.#target = target;
    this.#client = clients[service];
  }

  request({ method, path, query = [], headers = [], body }: StorageRequest): Buffer {
    const { account, host, port } = this.#target;
    const { userAgent, contentType } = this.#client;
    const fullPath = `/${account.name}${path}`;
    const length = body === undefined ? undefined : Buffer.byteLength(body);
    const type = body === undefined ? '' : contentType;
    const text =
      `${method}\n\n\n${length ?? ''}\n\n${type}\n\n\n\n\n\n\n` +
      headers.map(([name, value]) => `${name}:${value}\n`).join('') +
      `x-ms-client-request-id:${this.#requestId}\nx-ms-date:${this.#date}\nx-ms-version:${version}\n` +
      `/${account.name}${fullPath}${query.map(([name, value]) => `\n${name}:${value}`).join('')}`;
    const signature = createHmac('sha256', account.key).update(text).digest('base64');
    const parameters = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const bodyHeaders =
      body === undefined ? '' : `Content-Type: ${type}\r\nContent-Length: ${length}\r\n`;
    const head =
      `${method} ${fullPath}${parameters.length === 0 ? '' : `?${parameters.join('&')}`} HTTP/1.1\r\n` +
      `Accept: application/xml\r\n${bodyHeaders}x-ms-version: ${version}\r\n` +
      headers.map(([name, value]) => `${name}: ${value}\r\n`).join('') +
      `User-Agent: ${userAgent}\r\nx-ms-client-request-id: ${this.#requestId}\r\n` +
      `x-ms-date: ${this.#date}\r\nauthorization: SharedKey ${account.name}:${signature}\r\n` +
      `Host: ${host}:${port}\r\nConnection: keep-alive\r\n` +
      `${body === undefined && method !== 'GET' ? 'Content-Length: 0\r\n' : ''}\r\n`;
    if (typeof body === 'object') return Buffer.concat([Buffer.from(head), body]);
    return Buffer.from(head + (body ?? ''));
  }
}
