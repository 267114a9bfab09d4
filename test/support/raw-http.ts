import { createSecretKey } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { signRequest } from '../../src/wire/auth/shared-key.js';
import type { SignedRequest } from '../../src/wire/auth/signed-request.js';
import { developmentAccount } from '../../src/services/accounts/directory.js';

/** A response as it came over the socket. Header names in lower case; repeated fields joined. */
export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  /** Path and query as they shall stand on the request line. */
  readonly target: string;
  /** Sent after the default ones; a name given here replaces the default. */
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

const head = '\r\n\r\n';

/**
 * A connection on which a test decides every byte. Responses are read one after another, by their
 * Content-Length; those that the server sends while nobody waits are kept.
 */
export class RawConnection implements Disposable {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(port: number, host = '127.0.0.1') {
    this.socket = connect(port, host);
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

  /** The next response; undefined when the server closed the connection instead. */
  async read(): Promise<RawResponse | undefined> {
    for (;;) {
      const response = this.#take();
      if (response !== undefined) return response;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Everything that comes until the server closes the connection. */
  async readToEnd(): Promise<Buffer> {
    while (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #take(): RawResponse | undefined {
    const end = this.#received.indexOf(head);
    if (end < 0) return undefined;
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n');
    const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(statusLine) ?? [];
    const headers = headersOf(lines);
    const start = end + head.length;
    if (status.startsWith('1')) {
      this.#received = this.#received.subarray(start);
      return this.#take();
    }
    const length = Number(headers.get('content-length') ?? 0);
    if (this.#received.length < start + length) return undefined;
    const body = this.#received.subarray(start, start + length);
    this.#received = this.#received.subarray(start + length);
    return { status: Number(status), reason, headers, body, text: body.toString() };
  }
}

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return headers;
}

/** The bytes of a request exactly as described: nothing is signed and nothing is added. */
export function plainRequest(request: RawRequest): Buffer {
  const body = Buffer.from(request.body ?? '');
  const lines = Object.entries(request.headers ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const line = `${request.method ?? 'GET'} ${request.target} HTTP/1.1\r\n`;
  return Buffer.concat([Buffer.from(`${line}${lines}\r\n`), body]);
}

/** The bytes of a request with the headers that clients send, signed with SharedKeyLite. */
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

/** Sends a signed request on a connection of its own and returns the response. */
export async function send(
  port: number,
  request: RawRequest,
  signer: Signer = developmentSigner,
): Promise<RawResponse> {
  return sendBytes(port, signedRequest(request, signer));
}

/** Sends exact bytes on a connection of their own and returns the response. */
export async function sendBytes(port: number, bytes: string | Buffer): Promise<RawResponse> {
  using connection = new RawConnection(port);
  connection.write(bytes);
  const response = await connection.read();
  if (response === undefined) throw new Error('the server closed the connection without an answer');
  return response;
}
