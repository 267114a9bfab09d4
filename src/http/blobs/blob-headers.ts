import { asBuffer } from '../../base/bytes.js';
import type { BlobTier, CopyState } from '../../model/blobs/properties.js';
import type { BlobProperties } from '../../services/blobs/types.js';
import { addContentHeaders } from '../../wire/blobs/content-headers.js';
import { answeredImmutability } from '../../wire/blobs/immutability-headers.js';
import { blobTypeText, copyProgressText } from '../../wire/blobs/property-texts.js';
import { formatSnapshotTime } from '../../wire/blobs/snapshot-time.js';
import { httpDate } from '../../wire/http/http-date.js';
import { metadataHeaders } from '../operations/metadata.js';
import type { BlobRequest } from './request.js';
import { modifiedHeaders, versionIdHeader } from '../../wire/blobs/modified-headers.js';
import { leaseHeaders } from './state-headers.js';

/** Adds the MD5 of a whole blob under this name, if it has one. */
export function addMd5Header(lines: string[], name: string, { headers }: BlobProperties): void {
  const { contentMd5: md5 } = headers;
  if (md5 !== undefined) lines.push(name, asBuffer(md5).toString('base64'));
}

/** The tier, which Get Blob Properties shows. Blobs of other kinds have none of the account. */
export function tierHeaders({ kind, tier }: BlobProperties): string[] {
  if (tier === undefined) {
    return kind === 'block' ? ['x-ms-access-tier', 'Hot', 'x-ms-access-tier-inferred', 'true'] : [];
  }
  return ['x-ms-access-tier', tier.tier, ...changeHeaders(tier)];
}

function changeHeaders({ changedMicros }: BlobTier): string[] {
  return changedMicros === undefined
    ? []
    : ['x-ms-access-tier-change-time', httpDate(changedMicros)];
}

function copyHeaders(copy: CopyState): string[] {
  const { id, status, source, completedMicros, description, incremental } = copy;
  const headers = ['x-ms-copy-id', id, 'x-ms-copy-status', status, 'x-ms-copy-source', source];
  headers.push('x-ms-copy-progress', copyProgressText(copy));
  if (completedMicros !== undefined) {
    headers.push('x-ms-copy-completion-time', httpDate(completedMicros));
  }
  if (description !== undefined) headers.push('x-ms-copy-status-description', description);
  if (incremental !== undefined) {
    headers.push('x-ms-incremental-copy', 'true');
    const { snapshotMicros } = incremental;
    if (snapshotMicros !== undefined) {
      headers.push('x-ms-copy-destination-snapshot', formatSnapshotTime(snapshotMicros));
    }
  }
  return headers;
}

function addKindHeaders(headers: string[], blob: BlobProperties): void {
  const { kind, sequenceNumber, append } = blob;
  headers.push('x-ms-blob-type', blobTypeText(kind));
  if (sequenceNumber !== undefined) {
    headers.push('x-ms-blob-sequence-number', String(sequenceNumber));
  }
  if (append !== undefined) {
    headers.push('x-ms-blob-committed-block-count', String(append.count));
    if (append.isSealed) headers.push('x-ms-blob-sealed', 'true');
  }
}

function versionHeaders({ micros, isCurrent }: NonNullable<BlobProperties['version']>): string[] {
  const headers = [versionIdHeader, formatSnapshotTime(micros)];
  return isCurrent ? [...headers, 'x-ms-is-current-version', 'true'] : headers;
}

/**
 * The headers that Get Blob and Get Blob Properties have in common (blob-service §11.1). The
 * checksum is not among them: which header has it depends on the request.
 */
export function blobHeaders(blob: BlobProperties, { responseHeaders }: BlobRequest): string[] {
  const { lease, copy, tags, metadata, version, immutability } = blob;
  const headers = modifiedHeaders(blob.modifiedMicros);
  addContentHeaders(headers, blob.headers, responseHeaders);
  if (metadata.length > 0) headers.push(...metadataHeaders(metadata));
  addKindHeaders(headers, blob);
  if (version !== undefined) headers.push(...versionHeaders(version));
  if (lease !== undefined) headers.push(...leaseHeaders(lease));
  if (copy !== undefined) headers.push(...copyHeaders(copy));
  if (tags.length > 0) headers.push('x-ms-tag-count', String(tags.length));
  if (immutability !== undefined) headers.push(...answeredImmutability(immutability));
  headers.push('x-ms-creation-time', httpDate(blob.createdMicros));
  headers.push('x-ms-server-encrypted', 'true', 'Accept-Ranges', 'bytes');
  return headers;
}
