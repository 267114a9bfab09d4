import type { Bytes } from '../../base/bytes.js';
import type { BlobKind } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobRecord } from './blob-record.js';
import { foreignPageRangesMax } from './limits.js';
import type { Bounds } from './byte-run.js';
import type { Body } from './types.js';

/** A blob of another server, as it is at one moment. */
export interface ForeignBlob extends Pick<BlobRecord, 'headers' | 'metadata' | 'tags' | 'append'> {
  readonly kind: BlobKind;
  readonly bytes: number;
  /** Set for page blobs. */
  readonly sequenceNumber: bigint | undefined;
}

/** A committed block: its id, and its bytes. */
export interface ForeignBlock {
  readonly id: Bytes;
  readonly bytes: number;
}

/**
 * Reads a blob of another server. Every method rejects with `StorageError`, also when it is
 * aborted.
 */
export interface ForeignSource {
  readonly blob: ForeignBlob;
  /**
   * The committed blocks in their order; none when the blob was not made of blocks, or its server
   * does not tell them.
   */
  blocks(signal: AbortSignal): Promise<readonly ForeignBlock[]>;
  /** The written ranges of a page blob, in ascending order. */
  pages(signal: AbortSignal): Promise<readonly Bounds[]>;
  /** Returns exactly these bytes, or fails. */
  read(bounds: Bounds, signal: AbortSignal): Body;
}

/** A page blob has more written ranges than one copy of a foreign blob takes. */
export function tooManyForeignRanges(): StorageError {
  const most = foreignPageRangesMax.toLocaleString('en-US');
  const message =
    `The source has more than ${most} written ranges, which a copy from another server does not ` +
    'take. Create the page blob, and write its ranges by Put Page From URL.';
  return new StorageError('InvalidOperation', { message });
}
