import { signingForms } from '../../wire/auth/shared-key/signed-request.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { element, textElement, xmlDocument } from '../../wire/xml/element.js';
import type { XmlElement } from '../../wire/xml/reader.js';
import type { ServiceProperties } from '../../model/resources/service-properties.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { Connection } from './connection.js';
import { timeText } from './http-time.js';
import { ServiceError } from './service-error.js';
import { StorageClient, type ClientResponse, type ServiceProtocol } from './storage-client.js';
import { putPolicies, putServiceProperties } from './storage-settings.js';
import { childOf, childText, xmlAnswer } from './xml-answer.js';

export interface QueueListing {
  readonly name: string;
  /** Undefined when not requested. */
  readonly metadata: Metadata | undefined;
}

export interface QueueListPage {
  readonly queues: readonly QueueListing[];
  /** The marker of the next page; undefined on the last one. */
  readonly marker: string | undefined;
}

/** A message in an answer. Times are ISO 8601 with seconds. */
export interface ListedMessage {
  readonly id: string;
  readonly inserted: string;
  readonly expires: string;
  readonly dequeueCount: number;
  readonly text: string;
}

export interface ReceivedMessage extends ListedMessage {
  readonly nextVisible: string;
  readonly popReceipt: string;
}

const protocol: ServiceProtocol = {
  version: '2021-12-02',
  signing: signingForms.queue,
  scheme: 'SharedKey',
  headers: { Accept: 'application/xml' },
};

/** Queues in one page of a list. */
const pageQueuesMax = 1000;

/** A client of a queue service. Never retries. */
export class QueueClient {
  readonly #storage: StorageClient;

  constructor(connection: Connection) {
    this.#storage = new StorageClient(connection, protocol);
  }

  /** Ends idle connections, so that the process can end. */
  close(): void {
    this.#storage.close();
  }

  setPolicies(queue: string, policies: readonly SignedIdentifier[]): Promise<void> {
    return putPolicies(this.#storage, queue, policies);
  }

  setProperties(properties: ServiceProperties): Promise<void> {
    return putServiceProperties(this.#storage, properties);
  }

  /** Does nothing when the queue exists. */
  async createQueue(queue: string): Promise<void> {
    try {
      await this.#storage.request({ method: 'PUT', path: queue });
    } catch (error) {
      // The queue exists with other metadata.
      if (!(error instanceof ServiceError) || error.code !== 'QueueAlreadyExists') throw error;
    }
  }

  async listPage(options: {
    readonly prefix: string;
    readonly withMetadata: boolean;
    readonly marker: string | undefined;
  }): Promise<QueueListPage> {
    const { prefix, withMetadata, marker } = options;
    const query = [
      'comp=list',
      `maxresults=${pageQueuesMax}`,
      ...(prefix === '' ? [] : [`prefix=${encodeURIComponent(prefix)}`]),
      ...(withMetadata ? ['include=metadata'] : []),
      ...(marker === undefined ? [] : [`marker=${encodeURIComponent(marker)}`]),
    ];
    const answer = await this.#storage.request({ method: 'GET', path: '', query: query.join('&') });
    const root = xmlAnswer(answer.body, 'EnumerationResults');
    return {
      queues: childOf(root, 'Queues').children.map(listingOf),
      marker: childText(root, 'NextMarker') || undefined,
    };
  }

  /** Messages in the queue, invisible ones included. */
  async messageCount(queue: string): Promise<number> {
    const { headers } = await this.#storage.request({
      method: 'GET',
      path: queue,
      query: 'comp=metadata',
    });
    return Number(headers['x-ms-approximate-messages-count']);
  }

  /** Returns the id. */
  async put(
    queue: string,
    text: string,
    options: {
      readonly visibilitySeconds: number | undefined;
      /** `never`: the message does not expire. */
      readonly timeToLive: number | 'never' | undefined;
    },
  ): Promise<string> {
    const { visibilitySeconds, timeToLive } = options;
    const query = [
      ...(visibilitySeconds === undefined ? [] : [`visibilitytimeout=${visibilitySeconds}`]),
      ...(timeToLive === undefined
        ? []
        : [`messagettl=${timeToLive === 'never' ? -1 : timeToLive}`]),
    ];
    const answer = await this.#storage.request({
      method: 'POST',
      path: `${queue}/messages`,
      query: query.join('&'),
      headers: { 'Content-Type': 'application/xml' },
      body: xmlDocument(element('QueueMessage', textElement('MessageText', text))),
    });
    return childText(messageElements(answer)[0], 'MessageId');
  }

  async get(
    queue: string,
    options: { readonly count: number; readonly visibilitySeconds: number | undefined },
  ): Promise<readonly ReceivedMessage[]> {
    const { count, visibilitySeconds } = options;
    const query = [
      `numofmessages=${count}`,
      ...(visibilitySeconds === undefined ? [] : [`visibilitytimeout=${visibilitySeconds}`]),
    ];
    const answer = await this.#storage.request({
      method: 'GET',
      path: `${queue}/messages`,
      query: query.join('&'),
    });
    return messageElements(answer).map(receivedMessage);
  }

  async peek(queue: string, count: number): Promise<readonly ListedMessage[]> {
    const query = `peekonly=true&numofmessages=${count}`;
    const answer = await this.#storage.request({ method: 'GET', path: `${queue}/messages`, query });
    return messageElements(answer).map(listedMessage);
  }

  async delete(queue: string, { id, popReceipt }: ReceivedMessage): Promise<void> {
    await this.#storage.request({
      method: 'DELETE',
      path: `${queue}/messages/${encodeURIComponent(id)}`,
      query: `popreceipt=${encodeURIComponent(popReceipt)}`,
    });
  }

  async clear(queue: string): Promise<void> {
    await this.#storage.request({ method: 'DELETE', path: `${queue}/messages` });
  }
}

function listingOf(queue: XmlElement): QueueListing {
  const metadata = queue.children.find(({ name }) => name === 'Metadata');
  return {
    name: childText(queue, 'Name'),
    metadata: metadata?.children.map(({ name, text }) => [name, text] as const),
  };
}

function messageElements({ body }: ClientResponse): readonly XmlElement[] {
  return xmlAnswer(body, 'QueueMessagesList').children;
}

function listedMessage(message: XmlElement): ListedMessage {
  return {
    id: childText(message, 'MessageId'),
    inserted: timeText(childText(message, 'InsertionTime')),
    expires: timeText(childText(message, 'ExpirationTime')),
    dequeueCount: Number(childText(message, 'DequeueCount')),
    text: childText(message, 'MessageText'),
  };
}

function receivedMessage(message: XmlElement): ReceivedMessage {
  return {
    ...listedMessage(message),
    nextVisible: timeText(childText(message, 'TimeNextVisible')),
    popReceipt: childText(message, 'PopReceipt'),
  };
}
