import type { ContentHeaders } from '../../model/blobs/properties.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import type { SequenceAction } from '../../services/blobs/page-blobs.js';
import type { Access, BlobAddress, Written } from '../../services/blobs/types.js';
import { sequenceNumberHeader } from '../../wire/blobs/header-values.js';
import { changedContentHeaders } from '../../wire/blobs/content-headers.js';
import { objectAccess } from '../operations/access.js';
import { metadataOf } from '../operations/metadata.js';
import { blobAccessOf, blobOf } from './blob.js';
import { pageBlobBytesOf } from './page-blob.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { modifiedHeaders, writtenHeaders } from '../../wire/blobs/modified-headers.js';
import { encryptedHeaders } from './write-blob.js';

interface Target {
  readonly address: BlobAddress;
  readonly access: Access;
}

interface NewHeaders extends Target {
  /** Absent: they stay. */
  readonly headers: ContentHeaders | undefined;
  /** The new size of a page blob; absent: the size stays. */
  readonly bytes: number | undefined;
  readonly sequence: SequenceAction | undefined;
}

interface Changed extends Written {
  /** Set for page blobs. */
  readonly sequenceNumber?: bigint;
}

const numberHeader = 'x-ms-blob-sequence-number';
const actionHeader = 'x-ms-sequence-number-action';

/** The change of the sequence number. Throws `MissingRequiredHeader`, `InvalidHeaderValue`. */
function sequenceOf({ header }: Pick<BlobRequest, 'header'>): SequenceAction | undefined {
  const text = header(actionHeader);
  if (text === undefined) return undefined;
  const sequenceNumber = sequenceNumberHeader(header, numberHeader);
  const kind = text.toLowerCase();
  if (kind === 'increment') {
    if (sequenceNumber !== undefined) throw invalidHeader(numberHeader, String(sequenceNumber));
    return { kind };
  }
  if (kind !== 'max' && kind !== 'update') throw invalidHeader(actionHeader, text);
  if (sequenceNumber === undefined) throw missingHeader(numberHeader);
  return { kind, sequenceNumber };
}

/** `PUT /container/blob?comp=properties` (blob-service §15.1). */
export const setBlobProperties: BlobOperation<NewHeaders, Changed> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    return {
      address: blobOf(request),
      access: blobAccessOf(request, 'write'),
      headers: changedContentHeaders(request.header),
      bytes: pageBlobBytesOf(request),
      sequence: sequenceOf(request),
    };
  },

  run({ address, headers, bytes, sequence, access }, { backend }) {
    const { blobs } = backend;
    if (bytes !== undefined || sequence !== undefined) {
      const change = {
        ...(headers !== undefined && { headers }),
        ...(bytes !== undefined && { bytes }),
        ...(sequence !== undefined && { sequence }),
      };
      return blobs.changePageBlob(address, change, access);
    }
    return blobs.setHeaders(address, headers, access);
  },

  render({ modifiedMicros, sequenceNumber }) {
    const headers = modifiedHeaders(modifiedMicros);
    if (sequenceNumber !== undefined) headers.push(numberHeader, String(sequenceNumber));
    return { status: 200, headers };
  },
};

interface NewMetadata extends Target {
  readonly metadata: Metadata;
}

/** `PUT /container/blob?comp=metadata`: replaces all of it (blob-service §15.2). */
export const setBlobMetadata: BlobOperation<NewMetadata, Written> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    return {
      address: blobOf(request),
      access: blobAccessOf(request, 'write'),
      metadata: metadataOf(request.exchange),
    };
  },

  run({ address, metadata, access }, { backend }) {
    return backend.blobs.setMetadata(address, metadata, access);
  },

  render(written) {
    return { status: 200, headers: [...writtenHeaders(written), ...encryptedHeaders] };
  },
};
