import type { Metadata } from '../../src/model/resources/metadata.js';
import type { DequeuedMessage, PeekedMessage } from '../../src/services/queues/types.js';
import { messageBody, queryOf, type QueueWireClient } from '../wire/kit/queue-client.js';
import { elementText, messagesOf, type QueueMessage } from '../wire/kit/queue-xml.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { QueueOperations } from './queue-operations.js';
import { WireRefusal } from './queue-operations.js';

const microsPerSecond = 1_000_000;

/** Responses have times in whole seconds. */
export function shownMicros(micros: number): number {
  return Math.floor(micros / microsPerSecond) * microsPerSecond;
}

/**
 * The operations on queues over HTTP. Times are truncated to seconds; `from` of a list must be the
 * `next` of an earlier page. Throws `WireRefusal` for an error response.
 */
export class WireQueues implements QueueOperations {
  readonly #clients: Readonly<Record<string, QueueWireClient>>;

  /** Clients by account name. */
  constructor(clients: Readonly<Record<string, QueueWireClient>>) {
    this.#clients = clients;
  }

  async createQueue(account: string, name: string, metadata: Metadata) {
    const headers = metadataHeaders(metadata);
    const { status } = await this.#send(account, { method: 'PUT', path: `/${name}`, headers });
    return status === 201 ? ('created' as const) : ('existed' as const);
  }

  async deleteQueue(account: string, name: string): Promise<void> {
    await this.#send(account, { method: 'DELETE', path: `/${name}` });
  }

  async listQueues(account: string, query: Parameters<QueueOperations['listQueues']>[1]) {
    const { prefix, from, limit } = query;
    const path = `/${queryOf({ comp: 'list', include: 'metadata', prefix, marker: from, maxresults: limit })}`;
    const { text } = await this.#send(account, { path });
    const queues = [...text.matchAll(/<Queue>([^]*?)<\/Queue>/g)].map(([, inside = '']) => ({
      name: elementText(inside, 'Name') ?? '',
      metadata: metadataElements(inside),
    }));
    const next = elementText(text, 'NextMarker') ?? '';
    return next === '' ? { queues } : { queues, next };
  }

  async getQueue(account: string, name: string) {
    const response = await this.#send(account, { path: `/${name}?comp=metadata` });
    const count = Number(response.header('x-ms-approximate-messages-count'));
    return { name, metadata: metadataOf(response), approximateMessageCount: count };
  }

  async setMetadata(account: string, name: string, metadata: Metadata): Promise<void> {
    const headers = metadataHeaders(metadata);
    await this.#send(account, { method: 'PUT', path: `/${name}?comp=metadata`, headers });
  }

  async putMessage(
    account: string,
    queue: string,
    message: Parameters<QueueOperations['putMessage']>[2],
  ) {
    const { text, visibilitySeconds, timeToLiveSeconds } = message;
    const query = queryOf({
      visibilitytimeout: visibilitySeconds,
      messagettl: timeToLiveSeconds === Infinity ? -1 : timeToLiveSeconds,
    });
    const path = `/${queue}/messages${query}`;
    const response = await this.#send(account, { method: 'POST', path, body: messageBody(text) });
    const [put, ...others] = messagesOf(response);
    if (put === undefined || others.length > 0) throw new Error(`one message: ${response.text}`);
    const { id, insertedMicros, expiresMicros, popReceipt, nextVisibleMicros } = dequeued(put);
    return { id, insertedMicros, expiresMicros, popReceipt, nextVisibleMicros };
  }

  async getMessages(
    account: string,
    queue: string,
    options: Parameters<QueueOperations['getMessages']>[2],
  ) {
    const { count, visibilitySeconds } = options;
    const query = queryOf({ numofmessages: count, visibilitytimeout: visibilitySeconds });
    const response = await this.#send(account, { path: `/${queue}/messages${query}` });
    return messagesOf(response).map(dequeued);
  }

  async peekMessages(account: string, queue: string, count: number) {
    const query = queryOf({ peekonly: 'true', numofmessages: count });
    const response = await this.#send(account, { path: `/${queue}/messages${query}` });
    return messagesOf(response).map(peeked);
  }

  async updateMessage(
    account: string,
    queue: string,
    change: Parameters<QueueOperations['updateMessage']>[2],
  ) {
    const { id, popReceipt, visibilitySeconds, text } = change;
    const query = queryOf({ popreceipt: popReceipt, visibilitytimeout: visibilitySeconds });
    const response = await this.#send(account, {
      method: 'PUT',
      path: `/${queue}/messages/${encodeURIComponent(id)}${query}`,
      ...(text === undefined ? {} : { body: messageBody(text) }),
    });
    return {
      popReceipt: response.header('x-ms-popreceipt') ?? '',
      nextVisibleMicros: microsOf(response.header('x-ms-time-next-visible')),
    };
  }

  async deleteMessage(
    account: string,
    queue: string,
    { id, popReceipt }: Parameters<QueueOperations['deleteMessage']>[2],
  ): Promise<void> {
    const path = `/${queue}/messages/${encodeURIComponent(id)}${queryOf({ popreceipt: popReceipt })}`;
    await this.#send(account, { method: 'DELETE', path });
  }

  async clearMessages(account: string, queue: string): Promise<void> {
    await this.#send(account, { method: 'DELETE', path: `/${queue}/messages` });
  }

  async #send(
    account: string,
    request: Parameters<QueueWireClient['send']>[0],
  ): Promise<WireResponse> {
    const client = this.#clients[account];
    if (client === undefined) throw new Error(`no client for ${account}`);
    const response = await client.send(request);
    if (response.status < 300) return response;
    const code = elementText(response.text, 'Code') ?? '';
    if (response.header('x-ms-error-code') !== code) {
      throw new Error(`two codes of one error: ${response.head}\n${response.text}`);
    }
    throw new WireRefusal(response.status, code, response.text);
  }
}

function metadataHeaders(metadata: Metadata): Record<string, string> {
  return Object.fromEntries(metadata.map(([name, value]) => [`x-ms-meta-${name}`, value]));
}

function metadataOf({ headers }: WireResponse): Metadata {
  return headers.flatMap(([name, value]): [string, string][] => {
    const found = /^x-ms-meta-(.*)$/i.exec(name)?.[1];
    return found === undefined ? [] : [[found, value]];
  });
}

function metadataElements(queue: string): Metadata {
  const inside = /<Metadata>([^]*)<\/Metadata>/.exec(queue)?.[1] ?? '';
  return [...inside.matchAll(/<([\w-]+)>/g)].map(([, name = '']): [string, string] => [
    name,
    elementText(inside, name) ?? '',
  ]);
}

function peeked(message: QueueMessage): PeekedMessage {
  return {
    id: message.MessageId ?? '',
    insertedMicros: microsOf(message.InsertionTime),
    expiresMicros: microsOf(message.ExpirationTime),
    dequeueCount: Number(message.DequeueCount),
    text: message.MessageText ?? '',
  };
}

function dequeued(message: QueueMessage): DequeuedMessage {
  return {
    ...peeked(message),
    popReceipt: message.PopReceipt ?? '',
    nextVisibleMicros: microsOf(message.TimeNextVisible),
  };
}

function microsOf(date: string | undefined): number {
  const ms = Date.parse(date ?? '');
  if (Number.isNaN(ms)) throw new Error(`not a date: ${date}`);
  return ms * 1000;
}
