import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import type { List } from '../../base/lazy-list.js';
import type { Tags } from '../../model/blobs/tags.js';
import { formatSnapshotTime } from '../blobs/snapshot-time.js';
import { blobNameElement } from './blob-name.js';
import { blobTagsElement } from './blob-tags.js';
import { element, LongDocument, textElement } from './element.js';
import { enumerationEnd, enumerationStart } from './enumeration.js';

/** A blob that was found. */
export interface FoundBlob {
  readonly name: string;
  readonly container: string;
  /** The tags that the expression names. */
  readonly tags: Tags;
  /** Where versions are kept, in microseconds since 1970. */
  readonly version?: { readonly micros: number; readonly isCurrent: boolean };
}

/** One page of what was found. */
export interface RenderedFindResult {
  /** URL of the service, with a slash at the end. */
  readonly endpoint: string;
  /** The expression as sent. */
  readonly where: string;
  readonly blobs: List<FoundBlob>;
  /** Absent on the last page, where the element is written empty. */
  readonly nextMarker?: string;
}

/** The body of Find Blobs by Tags (blob-service §6.6). */
export function renderFindResult(result: RenderedFindResult): Buffer {
  return inOnePiece(findResultInPieces(result));
}

/** The body of Find Blobs by Tags, a blob at a time. */
export function* findResultInPieces(result: RenderedFindResult): Pieces<Buffer> {
  const { endpoint, where, blobs, nextMarker } = result;
  const document = new LongDocument();
  document.add(enumerationStart([['ServiceEndpoint', endpoint]], {}));
  document.add(textElement('Where', where));
  document.add(blobs.length === 0 ? element('Blobs', '') : '<Blobs>');
  for (const blob of blobs) {
    document.add(renderFound(blob));
    yield;
  }
  if (blobs.length > 0) document.add('</Blobs>');
  document.add(enumerationEnd(nextMarker === undefined ? {} : { nextMarker }));
  return document.result();
}

function renderFound({ name, container, version, tags }: FoundBlob): string {
  let children = blobNameElement(name) + textElement('ContainerName', container);
  if (version !== undefined) {
    children += element('VersionId', formatSnapshotTime(version.micros));
    if (version.isCurrent) children += element('IsCurrentVersion', 'true');
  }
  return element('Blob', children + blobTagsElement(tags));
}
