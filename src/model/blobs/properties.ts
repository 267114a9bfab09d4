import type { Bytes } from '../../base/bytes.js';

export type BlobKind = 'block' | 'append' | 'page';

/** What a request without credentials may read: nothing, blobs, or the list of them as well. */
export type PublicAccess = 'none' | 'blob' | 'container';

/** The content type of a blob whose writer gave none (blob-service §5.4). */
export const contentTypeDefault = 'application/octet-stream';

/**
 * The properties that answers return as HTTP headers (blob-service §5.4). An absent one is not
 * returned. Never an empty text.
 */
export interface ContentHeaders {
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  readonly cacheControl?: string;
  readonly contentDisposition?: string;
  /**
   * 16 bytes. The value that a client stored or that Put Blob computed. It is never checked
   * afterwards.
   */
  readonly contentMd5?: Bytes;
}

export type AccessTier = 'Hot' | 'Cool' | 'Cold' | 'Archive' | PremiumTier;

/** The tiers of premium page blobs. */
export type PremiumTier =
  'P4' | 'P6' | 'P10' | 'P15' | 'P20' | 'P30' | 'P40' | 'P50' | 'P60' | 'P70' | 'P80';

/** How soon a blob is to come back from the archive. */
export type RehydratePriority = 'Standard' | 'High';

/**
 * The tier that a request gave a blob (blob-service §15.3). A blob without one shows the default of
 * its account as inferred.
 */
export interface BlobTier {
  readonly tier: AccessTier;
  /** When Set Blob Tier changed it, in microseconds since 1970. Absent: when it was written. */
  readonly changedMicros?: number;
}

/** The last copy to a blob (blob-service §17). */
export interface CopyState {
  /** A GUID in lower case. */
  readonly id: string;
  readonly status: 'pending' | 'success' | 'aborted' | 'failed';
  /** The URL of the source as the client wrote it, without its signature. */
  readonly source: string;
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** Absent while the copy is pending. */
  readonly completedMicros?: number;
  /** Why it failed. */
  readonly description?: string;
  /** An incremental copy of a page blob; the snapshot that it made, in microseconds since 1970. */
  readonly incremental?: { readonly snapshotMicros?: number };
}
