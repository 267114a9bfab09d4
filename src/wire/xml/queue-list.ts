import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import type { List } from '../../base/lazy-list.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { element, LongDocument, textElement } from './element.js';
import { escapeXml } from './escape.js';
import { corsVersion } from './versions.js';

interface ListedQueue {
  readonly name: string;
  readonly metadata?: Metadata;
}

/** One page of queues, and what the request asked for. An absent member is not written. */
export interface RenderedQueueList {
  /** URL of the service, with a slash at the end. */
  readonly endpoint: string;
  /** `x-ms-version` of the request. */
  readonly version: string;
  readonly prefix?: string;
  readonly marker?: string;
  readonly maxResults?: number;
  readonly queues: List<ListedQueue>;
  /** Absent on the last page, where the element is written empty. */
  readonly nextMarker?: string;
}

/** The first version with metadata in lists, and with the name of a queue as `Name`. */
const nameVersion = '2009-09-19';

/** The body of List Queues in the form of the request's version (queue-service §6.1). */
export function renderQueueList(list: RenderedQueueList): Buffer {
  return inOnePiece(queueListInPieces(list));
}

/** The same, a queue at a time. */
export function* queueListInPieces(list: RenderedQueueList): Pieces<Buffer> {
  const { endpoint, version, prefix, marker, maxResults, queues } = list;
  const attribute = version < corsVersion ? 'AccountName' : 'ServiceEndpoint';
  const document = new LongDocument();
  document.add(`<EnumerationResults ${attribute}="${escapeXml(endpoint)}">`);
  if (prefix !== undefined) document.add(textElement('Prefix', prefix));
  if (marker !== undefined) document.add(textElement('Marker', marker));
  if (maxResults !== undefined) document.add(element('MaxResults', String(maxResults)));
  document.add(queues.length === 0 ? element('Queues', '') : '<Queues>');
  for (const queue of queues) {
    document.add(renderQueue(queue, list));
    yield;
  }
  if (queues.length > 0) document.add('</Queues>');
  document.add(textElement('NextMarker', list.nextMarker ?? ''));
  document.add('</EnumerationResults>');
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
  if (metadata !== undefined) {
    children += element('Metadata', metadata.map(renderMetadata).join(''));
  }
  return element('Queue', children);
}

/** Metadata names become element names; an invalid one is reported as text. */
function renderMetadata([name, value]: Metadata[number]): string {
  const isLegal = /^[A-Za-z_]\w*$/.test(name);
  return isLegal ? textElement(name, value) : textElement('x-ms-invalid-name', name);
}
