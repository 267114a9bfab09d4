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

/** A signature for services of an account (table-service §8.4, queue-service §4.4). */
export interface AccountSas extends SasFields {
  readonly kind: 'account-sas';
  /** `ss`: letters of `bqtf`. */
  readonly services: string;
  /** `srt`: letters of `sco`. */
  readonly resourceTypes: string;
  /** `ses`: ignored by tables and queues, but signed. */
  readonly encryptionScope?: string | undefined;
}

export type Sas = TableSas | QueueSas | UserDelegationQueueSas | AccountSas;

/** The first versions with each feature, by the texts of `sv`, which sort by time. */
export const sasVersions = {
  /** Tables and queues have signatures. */
  service: '2012-02-12',
  /** The signed resource begins with the name of the service. */
  resourcePrefix: '2015-02-21',
  /** Account signatures; addresses and protocols. */
  account: '2015-04-05',
  /** Account signatures have a line for an encryption scope. */
  encryptionScope: '2020-12-06',
  /** Queues have signatures by user delegation keys. */
  userDelegationQueue: '2025-07-05',
} as const;

/** Longest name of a stored policy, in UTF-16 code units. */
export const sasIdentifierLengthMax = 64;
