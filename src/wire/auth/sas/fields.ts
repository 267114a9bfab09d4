/**
 * The common fields of a shared access signature: the texts of the query string, decoded, as they
 * are signed. An absent or empty field is undefined, because both are signed alike.
 */
export interface SasFields {
  /** `sv`: the version whose rules made the signature, `yyyy-MM-dd`. */
  readonly version: string;
  /** `sp`: letters. */
  readonly permissions?: string | undefined;
  /** `st`: valid from this time on. */
  readonly start?: string | undefined;
  /** `se`: valid before this time. */
  readonly expiry?: string | undefined;
  /** `sip`: an IPv4 address or a range `a-b`. */
  readonly ip?: string | undefined;
  /** `spr`: `https` or `https,http`. */
  readonly protocol?: string | undefined;
  /** `sig`: base64, as sent. */
  readonly signature: string;
}

/** The fields of a service signature, some of which a stored access policy may supply. */
interface ServiceSasFields extends SasFields {
  /** `si`: the stored policy that supplies the missing fields. */
  readonly identifier?: string | undefined;
}

/** A service signature for one table (table-service §8.3). */
export interface TableSas extends ServiceSasFields {
  readonly kind: 'table-sas';
  /** `tn`, spelled as sent; the case of a table's name does not matter. */
  readonly table: string;
  readonly startPartitionKey?: string | undefined;
  /** Only with `startPartitionKey`. */
  readonly startRowKey?: string | undefined;
  readonly endPartitionKey?: string | undefined;
  /** Only with `endPartitionKey`. */
  readonly endRowKey?: string | undefined;
}

/** A service signature for one queue, which is that of the URL (queue-service §4.3). */
export interface QueueSas extends ServiceSasFields {
  readonly kind: 'queue-sas';
}

/** The fields of a signature that identify a user delegation key: texts as signed. */
export interface UserDelegationKeyFields {
  /** `skoid` and `sktid`: the user who got the key, and the tenant. */
  readonly objectId: string;
  readonly tenantId: string;
  /** `skt` and `ske`: when the key is valid. */
  readonly start: string;
  readonly expiry: string;
  /** `sks`: the letter of the service. */
  readonly service: string;
  /** `skv`: the version of the request that got the key. */
  readonly version: string;
  /** `skdutid`. */
  readonly delegatedTenantId?: string | undefined;
}

/** A signature for one queue by a user delegation key (queue-service §4.5). */
export interface UserDelegationQueueSas extends SasFields {
  readonly kind: 'user-delegation-queue-sas';
  readonly delegationKey: UserDelegationKeyFields;
  /** `sduoid`: the only user who may present the signature. */
  readonly delegatedUserObjectId?: string | undefined;
}

/**
 * The target of a signature for blobs, by `sr` (blob-service §4.3): a blob, a container, a
 * snapshot, a version, a directory.
 */
export type BlobSasResource = 'b' | 'c' | 'bs' | 'bv' | 'd';

/** Headers of an answer that a signature replaces, by the fields `rscc` to `rsct`. */
export interface SasResponseHeaders {
  readonly cacheControl?: string | undefined;
  readonly contentDisposition?: string | undefined;
  readonly contentEncoding?: string | undefined;
  readonly contentLanguage?: string | undefined;
  readonly contentType?: string | undefined;
}

/** The fields of signatures for blobs. */
interface BlobSasFields extends SasFields {
  /** `sr`. */
  readonly resource: BlobSasResource;
  /**
   * The `snapshot` or the `versionid` of the URL, which is signed: there exactly when the signature
   * is for a snapshot or a version.
   */
  readonly snapshotTime?: string | undefined;
  /** `sdd`: the segments of the directory; there exactly when the signature is for one. */
  readonly directoryDepth?: number | undefined;
  /** `ses`. */
  readonly encryptionScope?: string | undefined;
  readonly responseHeaders: SasResponseHeaders;
}

/** A service signature for what the URL names, or for a part of it (blob-service §4.3). */
export interface BlobSas extends ServiceSasFields, BlobSasFields {
  readonly kind: 'blob-sas';
}

/** A signature by a user delegation key, for what the URL names (blob-service §4.5). */
export interface UserDelegationBlobSas extends BlobSasFields {
  readonly kind: 'user-delegation-blob-sas';
  readonly delegationKey: UserDelegationKeyFields;
  /** `saoid` and `suoid`: the user who acts; the signer says that it is authorised, or not. */
  readonly authorizedObjectId?: string | undefined;
  readonly unauthorizedObjectId?: string | undefined;
  /** `scid`. */
  readonly correlationId?: string | undefined;
  /** `sduoid`: the only user who may present the signature. */
  readonly delegatedUserObjectId?: string | undefined;
}

/**
 * A signature for services of an account (table-service §8.4, queue-service §4.4, blob-service
 * §4.4).
 */
export interface AccountSas extends SasFields {
  readonly kind: 'account-sas';
  /** `ss`: letters of `bqtf`. */
  readonly services: string;
  /** `srt`: letters of `sco`. */
  readonly resourceTypes: string;
  /** `ses`: signed; there are no encryption scopes. */
  readonly encryptionScope?: string | undefined;
}

export type Sas =
  TableSas | QueueSas | UserDelegationQueueSas | BlobSas | UserDelegationBlobSas | AccountSas;

/** The first versions with each feature, by the texts of `sv`, which sort by time. */
export const sasVersions = {
  /** Tables and queues have signatures. */
  service: '2012-02-12',
  /** Signatures for blobs have headers of the answer. */
  responseHeaders: '2013-08-15',
  /** The signed resource begins with the name of the service. */
  resourcePrefix: '2015-02-21',
  /** Account signatures; addresses and protocols. */
  account: '2015-04-05',
  /** Blobs: the kind of the resource is signed; snapshots, versions and user delegation keys. */
  blobResource: '2018-11-09',
  /** Blobs: directories, and users who act for others. */
  directory: '2020-02-10',
  /** Account signatures, and those for blobs, have a line for an encryption scope. */
  encryptionScope: '2020-12-06',
  /** Queues have signatures by user delegation keys; those for blobs name another user. */
  userDelegationQueue: '2025-07-05',
  /** Signatures by user delegation keys have lines for headers and parameters of the request. */
  signedRequest: '2026-04-06',
} as const;

/** Longest name of a stored policy, in UTF-16 code units. */
export const sasIdentifierLengthMax = 64;
