import type { Metadata } from '../resources/metadata.js';
import { element, textElement, xmlDocument } from './element.js';
import { escapeXml } from './escape.js';
import { corsVersion } from './versions.js';

/** One page of queues, and what the request asked for. An absent member is not written. */
export interface RenderedQueueList {
  /** URL of the service, with a slash at the end. */
  readonly endpoint: string;
  /** `x-ms-version` of the request. */
  readonly version: string;
  readonly prefix?: string;
  readonly marker?: string;
  readonly maxResults?: number;
  readonly queues: readonly { readonly name: string; readonly metadata?: Metadata }[];
  /** Absent on the last page, where the element is written empty. */
  readonly nextMarker?: string;
}

/** Brought metadata into lists, and the name of a queue as `Name`. */
const nameVersion = '2009-09-19';

/** The body of List Queues in the form of the request's version (spec queue-service §6.1). */
export function renderQueueList(list: RenderedQueueList): Buffer {
  const { endpoint, version, prefix, marker, maxResults } = list;
  const attribute = version < corsVersion ? 'AccountName' : 'ServiceEndpoint';
  let children = '';
  if (prefix !== undefined) children += textElement('Prefix', prefix);
  if (marker !== undefined) children += textElement('Marker', marker);
  if (maxResults !== undefined) children += element('MaxResults', String(maxResults));
  children += element('Queues', list.queues.map((queue) => renderQueue(queue, list)).join(''));
  children += textElement('NextMarker', list.nextMarker ?? '');
  return xmlDocument(element(`EnumerationResults ${attribute}="${escapeXml(endpoint)}"`, children));
}

function renderQueue(
  { name, metadata }: RenderedQueueList['queues'][number],
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

/** Names are elements; one that cannot be is reported as text. */
function renderMetadata([name, value]: Metadata[number]): string {
  const isLegal = /^[A-Za-z_]\w*$/.test(name);
  return isLegal ? textElement(name, value) : textElement('x-ms-invalid-name', name);
}
