import type { TabulariumServer } from '../../../src/app/index.js';
import { WireConnection } from './connection.js';
import { messagesOf, type QueueMessage } from './queue-xml.js';
import { queueAuthorizationOf } from './queue-signature.js';
import { bodyBytes, requestBytes, type Headers } from './request-bytes.js';
import type { WireResponse } from './response.js';
import { developmentAccount, developmentKey, type Scheme } from './signature.js';

export interface QueueRequest {
  readonly method?: string;
  /** After the account, with the query: `/q1/messages?numofmessages=2`. */
  readonly path?: string;
  /** The whole target as on the request line; instead of `path`. */
  readonly target?: string;
  /** Added to the defaults; undefined takes a default away, a list repeats the header. */
  readonly headers?: Headers;
  readonly body?: string | Buffer;
  /** `none` sends no Authorization; default SharedKey. */
  readonly auth?: Scheme | 'none';
  /** `x-ms-version`; default 2021-12-02. */
  readonly version?: string;
}

/** Parameters of a query as they are written: a text may be no number at all. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\r': '&#13;',
};

/** The body of a put or an update. A carriage return is escaped: XML would make a line feed of it. */
export function messageBody(text: string): string {
  const escaped = text.replace(/[&<>\r]/g, (character) => escapes[character] ?? character);
  return `<QueueMessage><MessageText>${escaped}</MessageText></QueueMessage>`;
}

export function queryOf(values: QueryValues): string {
  const parts = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/**
 * Speaks to the queues of one server with bytes of its own making. What a request does not say is
 * what a well-behaved client sends: signed with SharedKey, version 2021-12-02.
 */
export class QueueWireClient {
  readonly account: string;
  readonly key: string;
  readonly port: number;
  readonly authority: string;
  readonly #connection: WireConnection;
  readonly #now: () => Date;
  #queues = 0;

  constructor(
    port: number,
    options: {
      readonly account?: string;
      readonly key?: string;
      /** What `x-ms-date` says; default the time of the machine. */
      readonly now?: () => Date;
    } = {},
  ) {
    this.port = port;
    this.account = options.account ?? developmentAccount;
    this.key = options.key ?? developmentKey;
    this.authority = `127.0.0.1:${port}`;
    this.#connection = new WireConnection(port);
    this.#now = options.now ?? (() => new Date());
  }

  static of(server: TabulariumServer): QueueWireClient {
    return new QueueWireClient(server.queuePort);
  }

  close(): void {
    this.#connection.close();
  }

  send(request: QueueRequest): Promise<WireResponse> {
    return this.#connection.exchange(this.bytes(request), request.method === 'HEAD');
  }

  /** Bytes as they are, on the kept connection. */
  sendRaw(bytes: Buffer, toHead = false): Promise<WireResponse> {
    return this.#connection.exchange(bytes, toHead);
  }

  /** The request as it goes over the wire. */
  bytes(request: QueueRequest): Buffer {
    const method = request.method ?? 'GET';
    const target = request.target ?? `/${this.account}${request.path ?? '/?comp=list'}`;
    const body = bodyBytes(request.body);
    return requestBytes(method, target, this.#headers(request, method, target, body), body);
  }

  #headers(
    request: QueueRequest,
    method: string,
    target: string,
    body: Buffer | undefined,
  ): Headers {
    const needsLength = body !== undefined || !['GET', 'HEAD', 'OPTIONS'].includes(method);
    const headers: Headers = {
      Host: this.authority,
      'x-ms-version': request.version ?? '2021-12-02',
      'x-ms-date': this.#now().toUTCString(),
      ...(body === undefined ? {} : { 'Content-Type': 'application/xml' }),
      ...(needsLength ? { 'Content-Length': String(body?.length ?? 0) } : {}),
      ...request.headers,
    };
    if (request.auth === 'none' || 'Authorization' in headers) return headers;
    const scheme = request.auth ?? 'SharedKey';
    const { account, key } = this;
    const authorization = queueAuthorizationOf({ scheme, account, key, method, target, headers });
    return { ...headers, Authorization: authorization };
  }

  /** Sends, and throws with the answer unless it has the status. */
  async expect(status: number, request: QueueRequest): Promise<WireResponse> {
    const response = await this.send(request);
    if (response.status === status) return response;
    const asked = `${request.method ?? 'GET'} ${request.path ?? request.target ?? ''}`;
    throw new Error(`${asked}: ${response.status}, not ${status}\n${response.text}`);
  }

  /** A fresh queue; returns its name. */
  async newQueue(prefix = 'queue', headers: Headers = {}): Promise<string> {
    this.#queues += 1;
    const name = `${prefix}-${this.#queues}`;
    await this.expect(201, { method: 'PUT', path: `/${name}`, headers });
    return name;
  }

  /** Puts a text and insists on success; the message as the answer has it. */
  async put(queue: string, text: string, values: QueryValues = {}): Promise<QueueMessage> {
    const path = `/${queue}/messages${queryOf(values)}`;
    const body = messageBody(text);
    return oneOf(await this.expect(201, { method: 'POST', path, body }));
  }

  /** Dequeues and insists on success. */
  async get(queue: string, values: QueryValues = {}): Promise<QueueMessage[]> {
    return messagesOf(await this.expect(200, { path: `/${queue}/messages${queryOf(values)}` }));
  }

  /** Dequeues one message that must be there. */
  async getOne(queue: string, values: QueryValues = {}): Promise<QueueMessage> {
    return oneOf(await this.expect(200, { path: `/${queue}/messages${queryOf(values)}` }));
  }

  peek(queue: string, values: QueryValues = {}): Promise<QueueMessage[]> {
    return this.get(queue, { peekonly: 'true', numofmessages: 32, ...values });
  }

  /** Texts that a peek shows, in their order. */
  async texts(queue: string): Promise<(string | undefined)[]> {
    return (await this.peek(queue)).map(({ MessageText }) => MessageText);
  }

  update(
    queue: string,
    message: QueueMessage,
    change: { readonly visibility?: string | number; readonly text?: string } = {},
  ): Promise<WireResponse> {
    const visibilitytimeout = change.visibility ?? 0;
    const path = messagePath(queue, message, { visibilitytimeout });
    const body = change.text === undefined ? {} : { body: messageBody(change.text) };
    return this.send({ method: 'PUT', path, ...body });
  }

  delete(queue: string, message: QueueMessage): Promise<WireResponse> {
    return this.send({ method: 'DELETE', path: messagePath(queue, message) });
  }

  /** What `x-ms-approximate-messages-count` says. */
  async count(queue: string): Promise<number> {
    const response = await this.expect(200, { path: `/${queue}?comp=metadata` });
    return Number(response.header('x-ms-approximate-messages-count'));
  }
}

/** The path of a message with its receipt; the receipt comes first, as official clients write it. */
export function messagePath(
  queue: string,
  { MessageId = '', PopReceipt }: QueueMessage,
  values: QueryValues = {},
): string {
  return `/${queue}/messages/${MessageId}${queryOf({ popreceipt: PopReceipt, ...values })}`;
}

function oneOf(response: WireResponse): QueueMessage {
  const [message, ...others] = messagesOf(response);
  if (message !== undefined && others.length === 0) return message;
  throw new Error(`expected one message: ${response.text}`);
}
