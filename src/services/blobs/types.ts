import type { Bytes } from '../../base/bytes.js';
import type { List } from '../../base/lazy-list.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { Immutability } from '../../model/blobs/immutability.js';
import type { LeaseProperties } from '../../model/blobs/lease.js';
import type {
  BlobKind,
  BlobTier,
  ContentHeaders,
  CopyState,
  PublicAccess,
} from '../../model/blobs/properties.js';
import type { Tags } from '../../model/blobs/tags.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';

// All times are microseconds since 1970. `modifiedMicros` is what ETag and Last-Modified show.

/** A body in pieces. It ends only when all of it has arrived and its checksums are right. */
export type Body = AsyncIterable<Buffer>;

export interface ContainerAddress {
  readonly account: string;
  readonly container: string;
}

export interface BlobAddress extends ContainerAddress {
  readonly blob: string;
}

/**
 * Which state of a blob: the blob itself, a snapshot, or the version of an id, which may be that of
 * the blob itself. One of them at most. -1 is never found.
 */
export interface BlobStateSelector {
  readonly snapshotMicros?: number;
  readonly versionMicros?: number;
}

/** A blob, one of its snapshots or one of its versions. */
export interface SnapshotAddress extends BlobAddress, BlobStateSelector {}

/** The state that a request demands. */
export interface Access {
  /** A GUID in lower case with dashes. */
  readonly leaseId?: string;
  readonly conditions?: BlobConditions;
}

/** The outcome of a write: the ETag and Last-Modified of the blob or container. */
export interface Written {
  readonly modifiedMicros: number;
  /** The id of the version that the blob is now. Absent: it is none. */
  readonly versionMicros?: number;
}

export interface NewContainer {
  readonly metadata: Metadata;
  readonly publicAccess: PublicAccess;
}

export interface ContainerAcl {
  readonly publicAccess: PublicAccess;
  readonly identifiers: readonly SignedIdentifier[];
}

/** The deletion of a soft-deleted blob or container in lists. */
export interface DeletionInfo {
  readonly timeMicros: number;
  /** A day that has begun counts. */
  readonly remainingDays: number;
}

export interface ContainerProperties extends NewContainer {
  readonly name: string;
  readonly modifiedMicros: number;
  readonly lease: LeaseProperties;
  /** Its blobs can have policies and legal holds, and it is deleted only when it is empty. */
  readonly hasImmutableStorage: boolean;
  /** Set for a soft-deleted container. `version` distinguishes those of one name. */
  readonly deleted?: DeletionInfo & { readonly version: string };
}

/** A deleted container. */
export interface DeletedContainerAddress extends ContainerAddress {
  /** As lists show it (`ContainerProperties.deleted`). */
  readonly version: string;
}

export interface ContainerQuery {
  /** Lists only names with this prefix. */
  readonly prefix?: string;
  /** The position to continue from, as in `ContainerList.next`. */
  readonly from?: string;
  readonly limit: number;
  /** Lists soft-deleted containers as well. Absent: false. */
  readonly includesDeleted?: boolean;
  /** Lists the containers that the service keeps itself as well. Absent: false. */
  readonly includesSystem?: boolean;
}

export interface ContainerList {
  /** In order of their names. Decoded on access: metadata may be large. */
  readonly containers: List<ContainerProperties>;
  /** The first name of the next page. Behind that of a deleted one are a slash and its version. */
  readonly next?: string;
}

/** The properties that Get Blob Properties shows of a blob or a snapshot (blob-service §11.1). */
export interface BlobProperties {
  readonly kind: BlobKind;
  readonly bytes: number;
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  readonly headers: ContentHeaders;
  readonly metadata: Metadata;
  readonly tags: Tags;
  /** Absent: the default of the account, inferred. */
  readonly tier?: BlobTier;
  /** Set for versions: the id, and whether the version is the blob itself. */
  readonly version?: { readonly micros: number; readonly isCurrent: boolean };
  /** Set for the blob itself alone. */
  readonly lease?: LeaseProperties;
  readonly copy?: CopyState;
  /** Set for page blobs. */
  readonly sequenceNumber?: bigint;
  /** Set for append blobs. */
  readonly append?: { readonly count: number; readonly isSealed: boolean };
  /** Its protection against changes and deletion. Absent: none. */
  readonly immutability?: Immutability;
}

/** Which states a list shows besides existing blobs (blob-service §8). */
export interface ListedStates {
  readonly snapshots: boolean;
  /** Former versions. Absent: false. */
  readonly versions?: boolean;
  /**
   * Deleted blobs of which only versions are left, unless `versions` shows those. Absent: false.
   */
  readonly versionsOnly?: boolean;
  /** Blobs that have nothing but uncommitted blocks. */
  readonly uncommitted: boolean;
  /** Soft-deleted blobs and snapshots. */
  readonly deleted: boolean;
}

/** The place of the first item of a page. */
export interface ListPosition {
  readonly name: string;
  /** Skips states of the blob of this name from before this time, but not the blob itself. */
  readonly fromMicros?: number;
}

/** Which items a list has. */
export interface ListSelection extends ListedStates {
  readonly prefix?: string;
  /** Not empty. Names with it behind the prefix are listed as one item. */
  readonly delimiter?: string;
  readonly from?: ListPosition;
}

export interface BlobQuery extends ListSelection {
  readonly limit: number;
}

/** All blobs of a list whose names begin alike, up to and with the delimiter. */
export interface ListedPrefix {
  readonly kind: 'prefix';
  readonly name: string;
}

/** A blob or a snapshot in a list. */
export interface ListedBlob {
  readonly kind: 'blob';
  readonly name: string;
  /** Set for snapshots. */
  readonly snapshotMicros?: number;
  /** Set for versions: the id, and whether the version is the blob itself. */
  readonly version?: { readonly micros: number; readonly isCurrent: boolean };
  /**
   * True when the blob itself was deleted and only former versions of it exist: this is the latest
   * of them.
   */
  readonly hasVersionsOnly?: boolean;
  /** Set for soft-deleted blobs and snapshots. */
  readonly deleted?: DeletionInfo;
  /** Absent: the blob has uncommitted blocks only. */
  readonly properties?: BlobProperties;
}

export interface BlobList {
  /**
   * In the order of their names, the snapshots of a blob before it, oldest first. Decoded on
   * access: a record may be large.
   */
  readonly items: List<ListedBlob | ListedPrefix>;
  /** Absent on the last page. */
  readonly next?: ListPosition;
}

/** The place of the first result of a page. */
export interface FindPosition {
  readonly container: string;
  /** The value of the tag whose hints the search reads. */
  readonly value: string;
  readonly name: string;
  /** Skips versions of this blob before this id, but not the blob itself. */
  readonly fromMicros?: number;
}

export interface FindOptions {
  readonly limit: number;
  /** Finds former versions as well. Absent: false. */
  readonly versions?: boolean;
  readonly from?: FindPosition;
}

/** A blob that was found by its tags. */
export interface FoundBlob {
  readonly name: string;
  readonly container: string;
  /** The tags that the query names. */
  readonly tags: Tags;
  /** Set where versions are looked for: the id, and whether the version is the blob itself. */
  readonly version?: { readonly micros: number; readonly isCurrent: boolean };
}

export interface FoundBlobs {
  readonly blobs: readonly FoundBlob[];
  /** Absent on the last page. */
  readonly next?: FindPosition;
}

/** Bytes of a blob, both ends included; no end means the last byte. */
export interface ReadRange {
  readonly first: number;
  readonly last: number | undefined;
}

/** The answer to a read: properties and bytes of the blob as it was at one moment. */
export interface BlobReading {
  readonly properties: BlobProperties;
  /** The first byte that is read, and the one behind the last. */
  readonly start: number;
  readonly end: number;
  /**
   * The bytes, in pieces of at most `readPieceBytesMax`, each valid until the next one is
   * requested; iterated at most once. Later changes of the blob do not change them. A caller that
   * does not iterate calls `close`.
   */
  readonly body: Body;
  /** The same bytes in one buffer, when they are in memory. Then `close` need not be called. */
  readonly whole?: Buffer;
  /** Releases the content. Idempotent; called by the end of the iteration as well. */
  close(): void;
}

/** What Put Blob and Put Block List set beside the content; everything is replaced. */
export interface NewProperties {
  readonly headers: ContentHeaders;
  readonly metadata: Metadata;
  readonly tags: Tags;
  /** Absent: a tier that was set stays (blob-service §12.1). */
  readonly tier?: BlobTier;
  /** The protection of the blob from now on. Absent: none, whatever the replaced blob had. */
  readonly immutability?: Immutability;
}

export interface NewBlockBlob extends NewProperties {
  /**
   * What the body must have: 16 bytes. Absent: it is computed. It is stored as `contentMd5` in
   * either case, unless the headers have one.
   */
  readonly md5?: Bytes;
}

export interface PutBlobResult extends Written {
  /** The MD5 hash of the body. */
  readonly md5: Bytes;
}

export interface NewBlock {
  /** Decoded from base64: 1 to 64 bytes. */
  readonly id: Bytes;
}

/** Which parts Get Block List returns. */
export type BlockListKind = 'committed' | 'uncommitted' | 'all';

/** Which snapshots Delete Blob deletes (blob-service §16.2). */
export type DeleteSnapshots = 'include' | 'only';

export interface DeleteOptions extends Access {
  /** Absent: the blob must have no snapshots. */
  readonly snapshots?: DeleteSnapshots;
  /** Purges a soft-deleted snapshot or version (blob-service §16.2). Absent: false. */
  readonly permanently?: boolean;
}

export interface LeaseOutcome extends Written {
  /** Set after acquire, renew and change. */
  readonly leaseId?: string;
  /** Set after break: the remaining time of the lease. */
  readonly remainingSeconds?: number;
}
