import { WireConnection, type Dial } from './connection.js';
import { bodyBytes, requestBytes, type Headers } from './request-bytes.js';
import type { WireResponse } from './response.js';
import type { Scheme } from './signature.js';

export interface WireRequest {
  readonly method?: string;
  /** Without the account, with the query: `/Tables`, `/q1/messages?numofmessages=2`. */
  readonly path?: string;
  /** The complete request target; replaces `path`. */
  readonly target?: string;
  /** Added to the defaults; undefined removes a default, a list repeats the header. */
  readonly headers?: Headers;
  readonly body?: string | Buffer;
  /** `none` sends no Authorization. */
  readonly auth?: Scheme | 'none';
}

export interface Signer {
  readonly account: string;
  /** Base64, as in connection strings. */
  readonly key: string;
}

/** The parts of a request that are signed. */
export interface SignableRequest extends Signer {
  readonly scheme: Scheme;
  readonly method: string;
  /** Path and query as on the request line. */
  readonly target: string;
  readonly headers: Headers;
}

/**
 * A client of one service that makes its own bytes, on one kept connection. Whatever a request
 * leaves out is as a correct client of the service sends it.
 */
export abstract class SigningClient<Request extends WireRequest> implements Signer {
  readonly account: string;
  readonly key: string;
  readonly port: number;
  readonly authority: string;
  readonly #connection: WireConnection;

  constructor(port: number, { account, key }: Signer, dial?: Dial) {
    this.port = port;
    this.account = account;
    this.key = key;
    this.authority = `127.0.0.1:${port}`;
    this.#connection = new WireConnection(port, dial);
  }

  close(): void {
    this.#connection.close();
  }

  send(request: Request): Promise<WireResponse> {
    return this.#connection.exchange(this.bytes(request), request.method === 'HEAD');
  }

  /** Sends exact bytes on the kept connection. */
  sendRaw(bytes: Buffer | string, toHead = false): Promise<WireResponse> {
    const exact = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1');
    return this.#connection.exchange(exact, toHead);
  }

  /** The bytes of a request. */
  bytes(request: Request): Buffer {
    const { method = 'GET', path = this.defaultPath } = request;
    const target = request.target ?? `/${this.account}${path}`;
    const body = bodyBytes(request.body);
    const needsLength = body !== undefined || !['GET', 'HEAD', 'OPTIONS'].includes(method);
    const unsigned = {
      Host: this.authority,
      ...this.defaultHeaders(request),
      ...(body === undefined ? {} : { 'Content-Type': this.bodyType }),
      ...(needsLength ? { 'Content-Length': String(body?.length ?? 0) } : {}),
      ...request.headers,
    };
    return requestBytes(method, target, this.#signed(request, method, target, unsigned), body);
  }

  #signed({ auth }: Request, method: string, target: string, headers: Headers): Headers {
    if (auth === 'none' || 'Authorization' in headers) return headers;
    const { account, key, scheme } = this;
    const signable = { scheme: auth ?? scheme, account, key, method, target, headers };
    return { ...headers, Authorization: this.authorization(signable) };
  }

  /** The path of a request without one. */
  protected abstract readonly defaultPath: string;
  /** The content type of a body without one. */
  protected abstract readonly bodyType: string;
  /** The scheme of a request without one. */
  protected abstract readonly scheme: Scheme;
  /** Headers beside those that every request has. */
  protected abstract defaultHeaders(request: Request): Headers;
  /** The value of the `Authorization` header. */
  protected abstract authorization(request: SignableRequest): string;
}
