import type { Immutability } from '../../model/blobs/immutability.js';
import type { LeaseProperties } from '../../model/blobs/lease.js';
import type {
  BlobKind,
  BlobTier,
  ContentHeaders,
  CopyState,
} from '../../model/blobs/properties.js';
import { etagText } from '../blobs/etag.js';
import { blobTypeText, copyProgressText } from '../blobs/property-texts.js';
import { formatSnapshotTime } from '../blobs/snapshot-time.js';
import { httpDate } from '../http/http-date.js';
import { leaseElements } from './blob-lease.js';
import { element, textElement } from './element.js';
import { creationTimeVersion, encryptionVersion, tagsVersion, tiersVersion } from './versions.js';

/** The properties of a blob that is there. Times are microseconds since 1970. */
export interface ListedBlobProperties {
  readonly kind: BlobKind;
  readonly bytes: number;
  readonly createdMicros: number;
  /** The time that ETag and Last-Modified show. */
  readonly modifiedMicros: number;
  readonly headers: ContentHeaders;
  /** Absent: the default of the account, inferred. */
  readonly tier?: BlobTier;
  /** Absent of a snapshot and of what was deleted. */
  readonly lease?: LeaseProperties;
  readonly copy?: CopyState;
  /** Set for page blobs. */
  readonly sequenceNumber?: bigint;
  /** Set for append blobs. */
  readonly append?: { readonly isSealed: boolean };
  readonly immutability?: Immutability;
}

/** Options of the elements. */
export interface BlobElementOptions {
  /** `x-ms-version` of the request. */
  readonly version: string;
  /** The requested parts. */
  readonly include: Readonly<Record<'copy' | 'policies' | 'legalHolds', boolean>>;
  readonly tagCount: number;
  /** The elements about a deletion, which stand among the others. */
  readonly deletion: string;
}

/** The children of `Properties`, in the order of the cloud service (blob-service §8.3). */
export function blobPropertyElements(
  blob: ListedBlobProperties,
  shown: BlobElementOptions,
): string {
  const { version, tagCount } = shown;
  let xml = '';
  if (version >= creationTimeVersion) xml += element('Creation-Time', httpDate(blob.createdMicros));
  xml += element('Last-Modified', httpDate(blob.modifiedMicros));
  xml += element('Etag', etagText(blob.modifiedMicros));
  xml += element('Content-Length', String(blob.bytes));
  xml += contentElements(blob.headers);
  if (blob.sequenceNumber !== undefined) {
    xml += element('x-ms-blob-sequence-number', String(blob.sequenceNumber));
  }
  xml += element('BlobType', blobTypeText(blob.kind));
  if (version >= tiersVersion) xml += tierElements(blob);
  if (blob.lease !== undefined) xml += leaseElements(blob.lease);
  if (shown.include.copy && blob.copy !== undefined) xml += copyElements(blob.copy);
  if (version >= encryptionVersion) xml += encrypted;
  if (blob.copy?.incremental !== undefined) xml += incrementalElements(blob.copy.incremental);
  xml += shown.deletion;
  if (tagCount > 0 && version >= tagsVersion) xml += element('TagCount', String(tagCount));
  if (blob.append?.isSealed === true) xml += element('Sealed', 'true');
  return blob.immutability === undefined ? xml : xml + kept(blob.immutability, shown);
}

/** The elements of immutability that the request asked for. */
function kept(
  { policy, hasLegalHold }: Immutability,
  { include }: Pick<BlobElementOptions, 'include'>,
): string {
  let xml = '';
  if (include.policies && policy !== undefined) {
    xml += element('ImmutabilityPolicyUntilDate', httpDate(policy.untilSeconds * 1_000_000));
    xml += element('ImmutabilityPolicyMode', policy.mode);
  }
  return include.legalHolds && hasLegalHold ? xml + element('LegalHold', 'true') : xml;
}

/** The properties of a blob that has uncommitted blocks only. */
export function uncommittedBlobElements(): string {
  return element('Content-Length', '0') + element('BlobType', blobTypeText('block'));
}

/** All of them; an empty element for what the blob does not have. */
function contentElements(headers: ContentHeaders): string {
  const md5 = headers.contentMd5;
  const digest = md5 === undefined ? '' : Buffer.from(md5).toString('base64');
  const { contentType = '', contentEncoding, contentLanguage } = headers;
  const { cacheControl, contentDisposition } = headers;
  return (
    textElement('Content-Type', contentType) +
    (contentEncoding === undefined && contentLanguage === undefined
      ? noCoding
      : textElement('Content-Encoding', contentEncoding ?? '') +
        textElement('Content-Language', contentLanguage ?? '')) +
    element('Content-MD5', digest) +
    (cacheControl === undefined && contentDisposition === undefined
      ? noDelivery
      : textElement('Cache-Control', cacheControl ?? '') +
        textElement('Content-Disposition', contentDisposition ?? ''))
  );
}

// The usual values are one text each, because encoding a text of many parts takes long.
const noCoding = element('Content-Encoding', '') + element('Content-Language', '');
const noDelivery = element('Cache-Control', '') + element('Content-Disposition', '');
const inferredTier = element('AccessTier', 'Hot') + element('AccessTierInferred', 'true');
const encrypted = element('ServerEncrypted', 'true');

/** Only block blobs have a tier without being given one. */
function tierElements({ kind, tier }: ListedBlobProperties): string {
  if (tier === undefined) {
    if (kind !== 'block') return '';
    return inferredTier;
  }
  let xml = element('AccessTier', tier.tier);
  if (tier.changedMicros !== undefined) {
    xml += element('AccessTierChangeTime', httpDate(tier.changedMicros));
  }
  return xml;
}

function copyElements(copy: CopyState): string {
  let xml = element('CopyId', copy.id) + element('CopyStatus', copy.status);
  xml += textElement('CopySource', copy.source);
  xml += element('CopyProgress', copyProgressText(copy));
  if (copy.completedMicros !== undefined) {
    xml += element('CopyCompletionTime', httpDate(copy.completedMicros));
  }
  if (copy.description !== undefined) {
    xml += textElement('CopyStatusDescription', copy.description);
  }
  return xml;
}

function incrementalElements({ snapshotMicros }: { readonly snapshotMicros?: number }): string {
  const xml = element('IncrementalCopy', 'true');
  if (snapshotMicros === undefined) return xml;
  return xml + element('DestinationSnapshot', formatSnapshotTime(snapshotMicros));
}
