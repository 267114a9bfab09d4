import { createSecretKey } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { signRequest } from '../../src/wire/auth/shared-key/shared-key.js';
import type { SignedRequest } from '../../src/wire/auth/shared-key/signed-request.js';
import { developmentAccount } from '../../src/services/accounts/directory.js';
import { bodyBytes, requestBytes } from '../wire/kit/request-bytes.js';
import { readResponse, type WireResponse } from '../wire/kit/response.js';

export interface RawRequest {
  readonly method?: string;
  /** Path and query exactly as on the request line. */
  readonly target: string;
  /** Added to the default headers; replaces a default of the same name. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Buffer;
}

export interface Signer {
  readonly name: string;
  /** Base64. */
  readonly key: string;
}

const developmentSigner: Signer = {
  name: developmentAccount.name,
  key: developmentAccount.keys[0] ?? '',
};

/**
 * A connection on which the test decides every byte. Responses are read in sequence and must not be
 * to HEAD requests; early ones are kept.
 */
export class RawConnection implements Disposable {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(port: number, host = '127.0.0.1', socket = connect(port, host)) {
    this.socket = socket;
    this.socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake?.();
    });
    const end = () => {
      this.#ended = true;
      this.#wake?.();
    };
    this.socket.on('end', end);
    this.socket.on('close', end);
    this.socket.on('error', end);
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** The next response; undefined when the server closes the connection instead. */
  async read(): Promise<WireResponse | undefined> {
    for (;;) {
      const response = this.#take();
      if (response !== undefined) return response;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** All bytes until the server closes the connection. */
  async readToEnd(): Promise<Buffer> {
    while (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #take(): WireResponse | undefined {
    const framed = readResponse(this.#received, { toHead: false, ended: this.#ended });
    if (framed === undefined) return undefined;
    this.#received = this.#received.subarray(framed.bytes);
    return framed.response;
  }
}

/** A connection to a server on this machine, with any certificate. */
export function openConnection(port: number, isTls: boolean): RawConnection {
  const host = '127.0.0.1';
  if (!isTls) return new RawConnection(port, host);
  return new RawConnection(port, host, connectTls({ port, host, rejectUnauthorized: false }));
}

/** The bytes of a request exactly as described, without a signature or further headers. */
export function plainRequest({ method = 'GET', target, headers = {}, body }: RawRequest): Buffer {
  return requestBytes(method, target, headers, bodyBytes(body));
}

/** The bytes of a request with the usual headers, signed with SharedKeyLite. */
export function signedRequest(request: RawRequest, signer: Signer = developmentSigner): Buffer {
  const { method = 'GET', target, body = '' } = request;
  const defaults: Record<string, string | undefined> = {
    Host: '127.0.0.1',
    Accept: 'application/json;odata=minimalmetadata',
    'x-ms-version': '2019-02-02',
    'x-ms-date': new Date().toUTCString(),
    ...(body === '' && method === 'GET' ? {} : bodyHeaders(body)),
  };
  const headers = { ...defaults, ...request.headers };
  const mark = target.indexOf('?');
  const signed: SignedRequest = {
    form: 'table',
    method,
    rawPath: mark < 0 ? target : target.slice(0, mark),
    comp: /[?&]comp=([^&]*)/.exec(target)?.[1],
    contentMd5: headers['Content-MD5'],
    contentType: headers['Content-Type'],
    xMsDate: headers['x-ms-date'] ?? '',
  };
  const key = createSecretKey(Buffer.from(signer.key, 'base64'));
  const authorization = signRequest('SharedKeyLite', { name: signer.name, key }, signed);
  return plainRequest({ ...request, headers: { Authorization: authorization, ...headers } });
}

function bodyHeaders(body: string | Buffer): Record<string, string> {
  const length = String(Buffer.byteLength(body));
  return { 'Content-Length': length, 'Content-Type': 'application/json' };
}

/** Sends a signed request on a new connection and returns the response. */
export async function send(
  port: number,
  request: RawRequest,
  signer: Signer = developmentSigner,
): Promise<WireResponse> {
  return sendBytes(port, signedRequest(request, signer));
}

/** Sends exact bytes on a new connection and returns the response. */
export async function sendBytes(port: number, bytes: string | Buffer): Promise<WireResponse> {
  using connection = new RawConnection(port);
  connection.write(bytes);
  const response = await connection.read();
  if (response === undefined) throw new Error('the server closed the connection without an answer');
  return response;
}
