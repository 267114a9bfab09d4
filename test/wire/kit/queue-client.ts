import type { TabulariumServer } from '../../../src/app/index.js';
import { messagesOf, type QueueMessage } from './queue-xml.js';
import { DatedClient, type DatedRequest } from './dated-client.js';
import type { Headers } from './request-bytes.js';
import type { WireResponse } from './response.js';

export type QueueRequest = DatedRequest;

/** Query parameters as text, which need not be valid numbers. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\r': '&#13;',
};

/**
 * The body of a put or an update. A carriage return is escaped, because XML would turn it into a
 * line feed.
 */
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

/** A client of the queue service: signed with SharedKey, version 2021-12-02. */
export class QueueWireClient extends DatedClient {
  #queues = 0;

  static of(server: TabulariumServer): QueueWireClient {
    return new QueueWireClient(server.queuePort);
  }

  /** Creates a queue and returns its name. */
  async newQueue(prefix = 'queue', headers: Headers = {}): Promise<string> {
    this.#queues += 1;
    const name = `${prefix}-${this.#queues}`;
    await this.expect(201, { method: 'PUT', path: `/${name}`, headers });
    return name;
  }

  /** Puts a text, which must succeed; returns the message of the response. */
  async put(queue: string, text: string, values: QueryValues = {}): Promise<QueueMessage> {
    const path = `/${queue}/messages${queryOf(values)}`;
    const body = messageBody(text);
    return oneOf(await this.expect(201, { method: 'POST', path, body }));
  }

  /** Gets messages, which must succeed. */
  async get(queue: string, values: QueryValues = {}): Promise<QueueMessage[]> {
    return messagesOf(await this.expect(200, { path: `/${queue}/messages${queryOf(values)}` }));
  }

  /** Gets one message, which must exist. */
  async getOne(queue: string, values: QueryValues = {}): Promise<QueueMessage> {
    return oneOf(await this.expect(200, { path: `/${queue}/messages${queryOf(values)}` }));
  }

  peek(queue: string, values: QueryValues = {}): Promise<QueueMessage[]> {
    return this.get(queue, { peekonly: 'true', numofmessages: 32, ...values });
  }

  /** Texts of peeked messages, in order. */
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

  /** The value of `x-ms-approximate-messages-count`. */
  async count(queue: string): Promise<number> {
    const response = await this.expect(200, { path: `/${queue}?comp=metadata` });
    return Number(response.header('x-ms-approximate-messages-count'));
  }
}

/**
 * The path of a message with its receipt; the receipt comes first, as official clients write it.
 */
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
