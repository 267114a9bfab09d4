import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import type { List } from '../../base/lazy-list.js';
import type { LeaseProperties } from '../../model/blobs/lease.js';
import type { PublicAccess } from '../../model/blobs/properties.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { etagHeader } from '../blobs/etag.js';
import { httpDate } from '../http/http-date.js';
import { leaseElements } from './blob-lease.js';
import { element, LongDocument, textElement } from './element.js';
import { enumerationEnd, enumerationStart, type EnumeratedPage } from './enumeration.js';
import { metadataElement } from './metadata.js';
import { containerPropertiesVersion, corsVersion, immutabilityVersion } from './versions.js';

export interface ListedContainer {
  readonly name: string;
  /** The time that ETag and Last-Modified show, in microseconds since 1970. */
  readonly modifiedMicros: number;
  readonly lease: LeaseProperties;
  readonly publicAccess: PublicAccess;
  readonly metadata: Metadata;
  readonly hasImmutableStorage: boolean;
  /** Set for a deleted container that is kept. */
  readonly deleted?: DeletedContainer;
}

export interface DeletedContainer {
  /** Tells containers apart that had the same name. */
  readonly version: string;
  /** In microseconds since 1970. */
  readonly timeMicros: number;
  readonly remainingDays: number;
}

/** One page of containers, and what the request asked for. */
export interface RenderedContainerList extends EnumeratedPage {
  /** URL of the service, with a slash at the end. */
  readonly endpoint: string;
  /** `x-ms-version` of the request. */
  readonly version: string;
  /** Whether the request asked for metadata. */
  readonly showsMetadata: boolean;
  readonly containers: List<ListedContainer>;
}

/** The body of List Containers in the form of the request's version (blob-service §6.1). */
export function renderContainerList(list: RenderedContainerList): Buffer {
  return inOnePiece(containerListInPieces(list));
}

/** The body of List Containers, a container at a time. */
export function* containerListInPieces(list: RenderedContainerList): Pieces<Buffer> {
  const { endpoint, version, containers } = list;
  const attribute = version < corsVersion ? 'AccountName' : 'ServiceEndpoint';
  const document = new LongDocument();
  document.add(enumerationStart([[attribute, endpoint]], list));
  document.add(containers.length === 0 ? element('Containers', '') : '<Containers>');
  for (const container of containers) {
    document.add(renderContainer(container, list));
    yield;
  }
  if (containers.length > 0) document.add('</Containers>');
  document.add(enumerationEnd(list));
  return document.result();
}

function renderContainer(
  container: ListedContainer,
  { endpoint, version, showsMetadata }: RenderedContainerList,
): string {
  const { name, deleted, metadata } = container;
  let children = textElement('Name', name);
  if (version < corsVersion) children += textElement('Url', endpoint + name);
  if (deleted !== undefined) {
    children += element('Deleted', 'true') + textElement('Version', deleted.version);
  }
  children += element('Properties', renderProperties(container, version));
  if (showsMetadata) children += metadataElement(metadata);
  return element('Container', children);
}

function renderProperties(container: ListedContainer, version: string): string {
  const { modifiedMicros, lease, publicAccess, deleted } = container;
  let children = element('Last-Modified', httpDate(modifiedMicros));
  children += textElement('Etag', etagHeader(modifiedMicros));
  children += leaseElements(lease);
  if (publicAccess !== 'none' && version >= containerPropertiesVersion) {
    children += element('PublicAccess', publicAccess);
  }
  children += element('HasImmutabilityPolicy', 'false');
  children += element('HasLegalHold', 'false');
  if (version >= immutabilityVersion) {
    const text = String(container.hasImmutableStorage);
    children += element('ImmutableStorageWithVersioningEnabled', text);
  }
  if (deleted !== undefined) {
    children += element('DeletedTime', httpDate(deleted.timeMicros));
    children += element('RemainingRetentionDays', String(deleted.remainingDays));
  }
  return children;
}
