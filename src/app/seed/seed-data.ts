import type { AccessTier, BlobKind } from '../../model/blobs/properties.js';

/** A type of the data model, with or without `Edm.` before it. */
export type SeedType =
  'String' | 'Int32' | 'Int64' | 'Double' | 'Boolean' | 'DateTime' | 'Guid' | 'Binary';

/**
 * A value with its type. Its text is in the form of the protocol: base64 for Binary, UTC for
 * DateTime.
 */
export interface SeedTypedValue {
  readonly type: SeedType | `Edm.${SeedType}`;
  readonly value: string | number | bigint | boolean;
}

/**
 * A whole number is an Int32, beyond that an Int64; any other number is a Double; a `Date` is a
 * DateTime. A property that is null or undefined is not stored.
 */
export type SeedValue =
  string | number | bigint | boolean | Date | Uint8Array | SeedTypedValue | null | undefined;

/**
 * An entity: `PartitionKey`, `RowKey` and its properties. `Name@odata.type` is the type of the text
 * in `Name`. `Timestamp` and `odata.…`, which answers contain, are ignored.
 */
export type SeedEntity = Readonly<Record<string, SeedValue>>;

export interface SeedTable {
  readonly entities?: readonly SeedEntity[];
  /** Further entities, of which only some are in memory at a time. */
  readonly stream?: AsyncIterable<SeedEntity>;
}

export interface SeedMessage {
  readonly text: string;
  /** The initial invisibility, 0 to 604,800. Default 0. */
  readonly visibilitySeconds?: number;
  /** The time to live, from 1; -1: unlimited. Default 604,800, seven days. */
  readonly timeToLiveSeconds?: number;
}

export interface SeedQueue {
  readonly metadata?: Readonly<Record<string, string>>;
  /** In the order in which they are dequeued. */
  readonly messages?: readonly (string | SeedMessage)[];
}

/** Its content is one of `text`, `base64`, `bytes` and `stream`; without any it is empty. */
export interface SeedBlob {
  /** Default: `block`. The content of a page blob gets zeros up to a multiple of 512 bytes. */
  readonly type?: BlobKind;
  /** `Hot`, `Cool`, `Cold` or `Archive` of a block blob, `P4` to `P80` of a page blob. */
  readonly tier?: AccessTier;
  /** Stored as UTF-8. */
  readonly text?: string;
  readonly base64?: string;
  readonly bytes?: Uint8Array;
  /** Called when the blob is written, up to 5,000 MiB. What it throws ends the seed. */
  readonly stream?: () => AsyncIterable<Uint8Array>;
  /** Default: `application/octet-stream`. */
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly cacheControl?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Up to 10. */
  readonly tags?: Readonly<Record<string, string>>;
}

export interface SeedContainer {
  readonly metadata?: Readonly<Record<string, string>>;
  /** What may be read without credentials. Default: `none`. */
  readonly publicAccess?: 'none' | 'blob' | 'container';
  /** By name. A text is the content of a blob; a blob that is null is empty. */
  readonly blobs?: Readonly<Record<string, string | SeedBlob | null>>;
}

/** Tables, queues and containers by name. One that is null is created empty. */
export interface SeedAccount {
  readonly tables?: Readonly<Record<string, SeedTable | null>>;
  readonly queues?: Readonly<Record<string, SeedQueue | null>>;
  readonly containers?: Readonly<Record<string, SeedContainer | null>>;
}

/**
 * Data to create before a server listens. Members beside `accounts` belong to the first account.
 */
export interface SeedData extends SeedAccount {
  readonly accounts?: Readonly<Record<string, SeedAccount>>;
  /**
   * `skip`, the default: existing entities, queues, containers and blobs are unchanged. `replace`:
   * entities and blobs are overwritten, and the metadata and messages of queues, the metadata and
   * public access of containers are replaced.
   */
  readonly ifExists?: 'skip' | 'replace';
  /** Called repeatedly with the progress so far. */
  readonly progress?: (progress: SeedProgress) => void;
}

export interface SeedProgress {
  /** Entities written or skipped. */
  readonly entities: number;
  /** Messages that were put. */
  readonly messages: number;
  /** Blobs written or skipped. */
  readonly blobs: number;
  /** Existing entities that were skipped. */
  readonly keptEntities: number;
  /** Existing queues that were skipped, with their messages. */
  readonly keptQueues: number;
  /** Existing blobs that were skipped. */
  readonly keptBlobs: number;
}

export const seededNothing: SeedProgress = Object.freeze({
  entities: 0,
  messages: 0,
  blobs: 0,
  keptEntities: 0,
  keptQueues: 0,
  keptBlobs: 0,
});

/** A path in a seed: member names and list positions. */
export type SeedPath = readonly (string | number)[];

/**
 * A seed that cannot be created. Data created before the error stay; a repeated run is harmless.
 */
export class SeedError extends Error {
  override readonly name = 'SeedError';
  /** The problem, without its path. */
  readonly reason: string;
  readonly path: SeedPath;
  /** The entity with the problem, as given. */
  readonly entity: SeedEntity | undefined;
  /** Further mistakes, as far as known. */
  readonly others: readonly SeedError[];

  constructor(
    path: SeedPath,
    reason: string,
    entity?: SeedEntity,
    others: readonly SeedError[] = [],
  ) {
    const lines = [{ path, reason }, ...others].map(placed);
    super(`The seed cannot be made: ${lines.join('\n')}`);
    this.reason = reason;
    this.path = path;
    this.entity = entity;
    this.others = others;
  }
}

function placed({ path, reason }: Pick<SeedError, 'path' | 'reason'>): string {
  return path.length === 0 ? `it ${reason}` : `${path.join('.')}: ${reason}`;
}
