import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import { unreachable } from '../../base/invariant.js';
import type { List } from '../../base/lazy-list.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { Tags } from '../../model/blobs/tags.js';
import { formatSnapshotTime } from '../blobs/snapshot-time.js';
import { httpDate } from '../http/http-date.js';
import {
  blobPropertyElements,
  uncommittedBlobElements,
  type ListedBlobProperties,
} from './blob-list-properties.js';
import { blobNameElement } from './blob-name.js';
import { blobTagsElement } from './blob-tags.js';
import { element, LongDocument, textElement } from './element.js';
import { enumerationEnd, enumerationStart, type EnumeratedPage } from './enumeration.js';
import { metadataElement } from './metadata.js';
import { corsVersion, tagsVersion } from './versions.js';

/** All blobs of a list whose names begin alike up to the delimiter. */
export interface ListedPrefix {
  readonly kind: 'prefix';
  /** Up to and with the delimiter. */
  readonly name: string;
}

/** A blob, a snapshot or a version. Times are microseconds since 1970. */
export interface ListedBlob {
  readonly kind: 'blob';
  readonly name: string;
  /** Set for snapshots. */
  readonly snapshotMicros?: number;
  /** Where versions are kept. */
  readonly version?: { readonly micros: number; readonly isCurrent: boolean };
  /** Set for a deleted blob or snapshot that is kept. */
  readonly deleted?: { readonly timeMicros: number; readonly remainingDays: number };
  /** True when the blob itself was deleted and only former versions of it exist. */
  readonly hasVersionsOnly?: boolean;
  /** Absent: the blob has uncommitted blocks only. */
  readonly properties?: ListedBlobProperties & { readonly metadata: Metadata; readonly tags: Tags };
}

/** The requested parts besides names and properties. */
export interface BlobListInclude {
  readonly metadata: boolean;
  readonly tags: boolean;
  readonly copy: boolean;
  readonly policies: boolean;
  readonly legalHolds: boolean;
}

/** One page of blobs, and what the request asked for. */
export interface RenderedBlobList extends EnumeratedPage {
  /** URL of the service, with a slash at the end. */
  readonly endpoint: string;
  readonly container: string;
  /** `x-ms-version` of the request. */
  readonly version: string;
  readonly delimiter?: string;
  readonly include: BlobListInclude;
  /** In the order of their names. */
  readonly items: List<ListedBlob | ListedPrefix>;
}

/** The body of List Blobs in the form of the request's version (blob-service §8.2). */
export function renderBlobList(list: RenderedBlobList): Buffer {
  return inOnePiece(blobListInPieces(list));
}

/** The body of List Blobs, an item at a time. */
export function* blobListInPieces(list: RenderedBlobList): Pieces<Buffer> {
  const { delimiter, items } = list;
  const document = new LongDocument();
  document.add(enumerationStart(attributesOf(list), list));
  if (delimiter !== undefined) document.add(textElement('Delimiter', delimiter));
  document.add(items.length === 0 ? element('Blobs', '') : '<Blobs>');
  for (const item of items) {
    document.add(renderItem(item, list));
    yield;
  }
  if (items.length > 0) document.add('</Blobs>');
  document.add(enumerationEnd(list));
  return document.result();
}

/** Old versions had the URL of the container alone. */
function attributesOf({
  endpoint,
  container,
  version,
}: RenderedBlobList): readonly (readonly [string, string])[] {
  if (version < corsVersion) return [['ContainerName', endpoint + container]];
  return [
    ['ServiceEndpoint', endpoint],
    ['ContainerName', container],
  ];
}

function renderItem(item: ListedBlob | ListedPrefix, list: RenderedBlobList): string {
  switch (item.kind) {
    case 'prefix':
      return element('BlobPrefix', blobNameElement(item.name));
    case 'blob':
      return element('Blob', renderBlob(item, list));
    default:
      return unreachable(item);
  }
}

function renderBlob(blob: ListedBlob, list: RenderedBlobList): string {
  const { name, deleted, snapshotMicros, version, properties } = blob;
  const { include } = list;
  let children = blobNameElement(name);
  if (list.version < corsVersion) children += textElement('Url', urlOf(name, list));
  if (deleted !== undefined) children += element('Deleted', 'true');
  if (snapshotMicros !== undefined) {
    children += element('Snapshot', formatSnapshotTime(snapshotMicros));
  }
  if (version !== undefined && list.version >= tagsVersion) {
    children += element('VersionId', formatSnapshotTime(version.micros));
    if (version.isCurrent) children += element('IsCurrentVersion', 'true');
  }
  children += element('Properties', propertiesOf(blob, list));
  if (properties !== undefined && include.metadata) {
    children += metadataElement(properties.metadata);
  }
  if (properties !== undefined && include.tags && properties.tags.length > 0) {
    children += blobTagsElement(properties.tags);
  }
  return blob.hasVersionsOnly === true ? children + element('HasVersionsOnly', 'true') : children;
}

function urlOf(name: string, { endpoint, container }: RenderedBlobList): string {
  return `${endpoint}${container}/${name.split('/').map(encodeURIComponent).join('/')}`;
}

function propertiesOf(
  { properties, deleted }: ListedBlob,
  { version, include }: RenderedBlobList,
): string {
  if (properties === undefined) return uncommittedBlobElements();
  const deletion =
    deleted === undefined
      ? ''
      : element('DeletedTime', httpDate(deleted.timeMicros)) +
        element('RemainingRetentionDays', String(deleted.remainingDays));
  const shown = { version, include, tagCount: properties.tags.length, deletion };
  return blobPropertyElements(properties, shown);
}
