import { createHmac, randomUUID } from 'node:crypto';
import type { Target } from './http-request.js';

const version = '2026-02-06';
const userAgent =
  'azsdk-js-azure-storage-queue/12.30.0 core-rest-pipeline/1.24.0 Node/20 (Linux; x64)';
/** What the official client asks for with every request. */
export const timeoutParameter = ['timeout', '30'] as const;

export interface QueueRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** After the account. */
  readonly path: string;
  /** Decoded, in ordinal order of their names. */
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
}

const contentType = 'application/xml; charset=UTF-8';

/**
 * Signs requests with SharedKey as the official JavaScript client does, headers included. The date
 * is that of its making: good for 15 minutes.
 */
export class QueueSigner {
  readonly #target: Target;
  readonly #date = new Date().toUTCString();
  readonly #requestId = randomUUID();

  constructor(target: Target) {
    this.#target = target;
  }

  request({ method, path, query, body }: QueueRequest): Buffer {
    const { account, host, port } = this.#target;
    const fullPath = `/${account.name}${path}`;
    const length = body === undefined ? undefined : Buffer.byteLength(body);
    const type = body === undefined ? '' : contentType;
    const text =
      `${method}\n\n\n${length ?? ''}\n\n${type}\n\n\n\n\n\n\n` +
      `x-ms-client-request-id:${this.#requestId}\nx-ms-date:${this.#date}\nx-ms-version:${version}\n` +
      `/${account.name}${fullPath}${query.map(([name, value]) => `\n${name}:${value}`).join('')}`;
    const signature = createHmac('sha256', account.key).update(text).digest('base64');
    const parameters = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const bodyHeaders =
      body === undefined ? '' : `Content-Type: ${type}\r\nContent-Length: ${length}\r\n`;
    return Buffer.from(
      `${method} ${fullPath}${parameters.length === 0 ? '' : `?${parameters.join('&')}`} HTTP/1.1\r\n` +
        `Accept: application/xml\r\n${bodyHeaders}x-ms-version: ${version}\r\n` +
        `User-Agent: ${userAgent}\r\nx-ms-client-request-id: ${this.#requestId}\r\n` +
        `x-ms-date: ${this.#date}\r\nauthorization: SharedKey ${account.name}:${signature}\r\n` +
        `Host: ${host}:${port}\r\nConnection: keep-alive\r\n` +
        `${body === undefined && method !== 'GET' ? 'Content-Length: 0\r\n' : ''}\r\n${body ?? ''}`,
    );
  }
}
