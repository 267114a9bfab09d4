import { request as httpRequest, type IncomingMessage } from 'node:http';
import { unreachable } from '../../src/base/invariant.js';
import { signRequest } from '../../src/wire/auth/shared-key/shared-key.js';
import type { SignedRequest } from '../../src/wire/auth/shared-key/signed-request.js';
import type { Ports } from '../child.js';
import type { Target } from '../http-request.js';
import type { PlainRequest, Sender } from './hostile-request.js';

/** The first API version with bearer tokens in all services. */
const version = '2025-07-05';
const headerSizeMax = 1 << 20;
/** How much of an answer is kept. */
const answerCharactersMax = 4096;

export interface Answer {
  /** 0 when the connection broke before the end of the answer. */
  readonly status: number;
  /** The beginning of the body. */
  readonly text: string;
}

export interface Credentials {
  readonly account: Target['account'];
  readonly token: string;
}

const broken: Answer = { status: 0, text: '' };

/** Sends each request on a connection of its own, with the credential that it asks for. */
export class SignedSender {
  readonly #ports: Ports;
  readonly #credentials: Credentials;

  constructor(ports: Ports, credentials: Credentials) {
    this.#ports = ports;
    this.#credentials = credentials;
  }

  /** Sends a request and waits for the whole answer. */
  send(plain: PlainRequest): Promise<Answer> {
    return new Promise((resolve) => {
      const request = this.#open(plain, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          if (text.length < answerCharactersMax) text += chunk.toString('latin1');
        });
        response.on('error', () => resolve(broken));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('error', () => resolve(broken));
      request.end(plain.body);
    });
  }

  /** Sends a request and reads nothing of the answer. The returned function ends the connection. */
  sendAndForget(plain: PlainRequest): () => void {
    const request = this.#open(plain, (response) => {
      response.on('error', () => {});
      response.pause();
    });
    request.on('error', () => {});
    request.end(plain.body);
    return () => request.destroy();
  }

  /** Sends a request without its last byte. The returned function ends the connection. */
  sendInPart(plain: PlainRequest): () => void {
    const request = this.#open(plain, (response) => response.resume());
    request.on('error', () => {});
    request.write((plain.body ?? '').slice(0, -1));
    return () => request.destroy();
  }

  #open(plain: PlainRequest, onAnswer: (response: IncomingMessage) => void) {
    const { account } = this.#credentials;
    const path = `/${account.name}${plain.secondary === true ? '-secondary' : ''}${plain.path}`;
    return httpRequest(
      {
        host: '127.0.0.1',
        port: this.#ports[plain.service],
        method: plain.method,
        path,
        agent: false,
        maxHeaderSize: headerSizeMax,
        headers: { ...this.#headers(plain, path), connection: 'close' },
      },
      onAnswer,
    );
  }

  #headers(plain: PlainRequest, path: string): Record<string, string> {
    const { service, body = '', headers = {} } = plain;
    const sender: Sender = plain.sender ?? (service === 'table' ? 'SharedKeyLite' : 'SharedKey');
    const sent: Record<string, string> = {
      'x-ms-version': version,
      accept: 'application/json',
      ...lowerNames(headers),
      'content-length': String(Buffer.byteLength(body)),
    };
    switch (sender) {
      case 'as-it-is':
        return sent;
      case 'bearer':
        return { ...sent, authorization: `Bearer ${this.#credentials.token}` };
      case 'SharedKey':
      case 'SharedKeyLite': {
        const dated = { ...sent, 'x-ms-date': new Date().toUTCString() };
        const signed = signedRequest(plain, path, dated);
        const authorization = signRequest(sender, this.#credentials.account, signed);
        return { ...dated, authorization };
      }
      default:
        return unreachable(sender);
    }
  }
}

function signedRequest(
  { service, method }: PlainRequest,
  path: string,
  headers: Readonly<Record<string, string>>,
): SignedRequest {
  const [rawPath = '', rawQuery = ''] = path.split(/\?(.*)/s);
  switch (service) {
    case 'table':
      return {
        form: 'table',
        method,
        rawPath,
        comp: new URLSearchParams(rawQuery).get('comp') ?? undefined,
        contentMd5: undefined,
        contentType: headers['content-type'],
        xMsDate: headers['x-ms-date'],
      };
    case 'queue':
    case 'blob':
      return {
        form: 'blob-queue',
        method,
        rawPath,
        rawQuery,
        version: headers['x-ms-version'] ?? version,
        headers: Object.entries(headers).flat(),
      };
    default:
      return unreachable(service);
  }
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
