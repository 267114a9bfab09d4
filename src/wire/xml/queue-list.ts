import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import type { List } from '../../base/lazy-list.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { element, LongDocument, textElement } from './element.js';
import { enumerationEnd, enumerationStart, type EnumeratedPage } from './enumeration.js';
import { metadataElement } from './metadata.js';
import { corsVersion } from './versions.js';

interface ListedQueue {
  readonly name: string;
  readonly metadata?: Metadata;
}

/** One page of queues, and what the request asked for. */
export interface RenderedQueueList extends EnumeratedPage {
  /** URL of the service, with a slash at the end. */
  readonly endpoint: string;
  /** `x-ms-version` of the request. */
  readonly version: string;
  readonly queues: List<ListedQueue>;
}

/** The first version with metadata in lists, and with the name of a queue as `Name`. */
const nameVersion = '2009-09-19';

/** The body of List Queues in the form of the request's version (queue-service §6.1). */
export function renderQueueList(list: RenderedQueueList): Buffer {
  return inOnePiece(queueListInPieces(list));
}

/** The body of List Queues, a queue at a time. */
export function* queueListInPieces(list: RenderedQueueList): Pieces<Buffer> {
  const { endpoint, version, queues } = list;
  const attribute = version < corsVersion ? 'AccountName' : 'ServiceEndpoint';
  const document = new LongDocument();
  document.add(enumerationStart([[attribute, endpoint]], list));
  document.add(queues.length === 0 ? element('Queues', '') : '<Queues>');
  for (const queue of queues) {
    document.add(renderQueue(queue, list));
    yield;
  }
  if (queues.length > 0) document.add('</Queues>');
  document.add(enumerationEnd(list));
  return document.result();
}

function renderQueue(
  { name, metadata }: ListedQueue,
  { endpoint, version }: RenderedQueueList,
): string {
  if (version < nameVersion) {
    return element('Queue', textElement('QueueName', name) + textElement('Url', endpoint + name));
  }
  let children = textElement('Name', name);
  if (version < corsVersion) children += textElement('Url', endpoint + name);
  if (metadata !== undefined) children += metadataElement(metadata);
  return element('Queue', children);
}
