import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { unreachable } from '../../base/invariant.js';
import { systemClock } from '../../base/clock.js';
import type { SharedKeyScheme } from '../../wire/auth/shared-key/shared-key-credential.js';
import { signRequest } from '../../wire/auth/shared-key/shared-key.js';
import type { SignedRequest, SigningForm } from '../../wire/auth/shared-key/signed-request.js';
import { httpDate } from '../../wire/http/http-date.js';
import { answerBytes } from './answer-bytes.js';
import type { Connection } from './connection.js';
import { connectionProblem } from './connection-problem.js';
import { redirection, serviceErrorOf } from './service-error.js';

export interface ClientRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'MERGE' | 'DELETE';
  /** The path after the endpoint, percent-encoded, without a leading slash. */
  readonly path: string;
  /** Percent-encoded. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface ClientResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** The protocol details of a storage service. */
export interface ServiceProtocol {
  /** `x-ms-version`. */
  readonly version: string;
  readonly signing: SigningForm;
  readonly scheme: SharedKeyScheme;
  /** Default headers of a request. */
  readonly headers: Readonly<Record<string, string>>;
}

const timeoutMs = 90_000;

/** An HTTP client of a storage service. Never retries. */
export class StorageClient {
  readonly connection: Connection;
  readonly #protocol: ServiceProtocol;
  readonly #agent: HttpAgent;
  readonly #isSecure: boolean;
  readonly #url: URL;

  constructor(
    connection: Connection,
    protocol: ServiceProtocol,
    options: { readonly socketsMax?: number } = {},
  ) {
    this.connection = connection;
    this.#protocol = protocol;
    this.#url = new URL(connection.endpoint);
    this.#isSecure = this.#url.protocol === 'https:';
    const agentOptions = { keepAlive: true, maxSockets: options.socketsMax ?? 8 };
    this.#agent = this.#isSecure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  }

  /** The `x-ms-version` of its requests. */
  get version(): string {
    return this.#protocol.version;
  }

  /** Ends idle connections, so that the process can end. */
  close(): void {
    this.#agent.destroy();
  }

  /**
   * Throws `ServiceError` for an error answer, `ConnectionError` for a transient lack of one, and
   * `CommandFailure` for a permanent one.
   */
  async request(options: ClientRequest): Promise<ClientResponse> {
    const response = await this.#send(options);
    const { status, headers, body } = response;
    if (status >= 200 && status < 300) return response;
    if (status >= 300 && status < 400) throw redirection(status, headers.location);
    throw serviceErrorOf(status, body.toString('utf8'));
  }

  #send(options: ClientRequest): Promise<ClientResponse> {
    const { method, body } = options;
    const rawPath = `${this.#url.pathname.replace(/\/$/, '')}/${options.path}`;
    const headers = this.#headers(options, rawPath);
    const send = this.#isSecure ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void =>
        reject(connectionProblem(error, this.connection.endpoint));
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
          answerBytes(response).then(
            (bytes) =>
              resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes }),
            fail,
          );
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer in ${timeoutMs} ms`)));
      request.on('error', fail);
      request.end(body);
    });
  }

  #headers(request: ClientRequest, rawPath: string): Record<string, string> {
    const { version, headers } = this.#protocol;
    const all: Record<string, string> = {
      ...headers,
      'x-ms-version': version,
      'x-ms-date': httpDate(systemClock.nowMicros()),
      ...request.headers,
    };
    const { method, body } = request;
    if (body !== undefined) all['Content-Length'] = String(Buffer.byteLength(body));
    else if (method === 'PUT' || method === 'POST') all['Content-Length'] = '0';
    const { account, credential } = this.connection;
    if (credential.kind === 'shared-key') {
      const signer = { name: account, key: credential.key };
      const signed = signedParts(this.#protocol, request, { rawPath, headers: all });
      all['Authorization'] = signRequest(this.#protocol.scheme, signer, signed);
    }
    return all;
  }
}

/** The signed parts of a request. */
function signedParts(
  { signing, version }: ServiceProtocol,
  { method, query = '' }: ClientRequest,
  sent: { readonly rawPath: string; readonly headers: Readonly<Record<string, string>> },
): SignedRequest {
  const { rawPath, headers } = sent;
  switch (signing) {
    case 'table':
      return {
        form: signing,
        method,
        rawPath,
        comp: new URLSearchParams(query).get('comp') ?? undefined,
        contentMd5: undefined,
        contentType: headers['Content-Type'],
        xMsDate: headers['x-ms-date'],
      };
    case 'blob-queue': {
      const flat = Object.entries(headers).flat();
      return { form: signing, method, rawPath, rawQuery: query, version, headers: flat };
    }
    default:
      return unreachable(signing);
  }
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
