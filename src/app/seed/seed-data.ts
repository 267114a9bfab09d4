/** A type of the data model, with or without `Edm.` before it. */
export type SeedType =
  'String' | 'Int32' | 'Int64' | 'Double' | 'Boolean' | 'DateTime' | 'Guid' | 'Binary';

/** A value with its type. Its text is that of the protocol: base64 for Binary, UTC for DateTime. */
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
 * in `Name`. `Timestamp` and `odata.…`, which entities have in answers, are left out.
 */
export type SeedEntity = Readonly<Record<string, SeedValue>>;

export interface SeedTable {
  readonly entities?: readonly SeedEntity[];
  /** More entities, of which only some are held at a time. */
  readonly stream?: AsyncIterable<SeedEntity>;
}

export interface SeedMessage {
  readonly text: string;
  /** How long it stays invisible at first, 0 to 604,800. Default 0. */
  readonly visibilitySeconds?: number;
  /** How long it lives, from 1; -1 for ever. Default 604,800, seven days. */
  readonly timeToLiveSeconds?: number;
}

export interface SeedQueue {
  readonly metadata?: Readonly<Record<string, string>>;
  /** In the order in which they are handed out. */
  readonly messages?: readonly (string | SeedMessage)[];
}

/** Tables and queues by name. A table or queue that is null is made without content. */
export interface SeedAccount {
  readonly tables?: Readonly<Record<string, SeedTable | null>>;
  readonly queues?: Readonly<Record<string, SeedQueue | null>>;
}

/** What a server makes before it listens. What stands beside `accounts` is the first account's. */
export interface SeedData extends SeedAccount {
  readonly accounts?: Readonly<Record<string, SeedAccount>>;
  /**
   * `skip`, the default: entities and queues that exist stay as they are. `replace`: entities are
   * overwritten, and queues get this metadata and these messages instead of theirs.
   */
  readonly ifExists?: 'skip' | 'replace';
  /** Called now and then with what has been done so far. */
  readonly progress?: (progress: SeedProgress) => void;
}

export interface SeedProgress {
  /** Entities written or kept. */
  readonly entities: number;
  /** Messages that were put. */
  readonly messages: number;
  /** Entities that existed and stayed as they were, which `skip` asks for. */
  readonly keptEntities: number;
  /** Queues that existed and stayed as they were, with their messages. */
  readonly keptQueues: number;
}

/** Where in a seed something is: names of members and positions in lists. */
export type SeedPath = readonly (string | number)[];

/** A seed that cannot be made. What was made before stays; doing it again is harmless. */
export class SeedError extends Error {
  override readonly name = 'SeedError';
  /** What is wrong, without where. */
  readonly reason: string;
  readonly path: SeedPath;
  /** The entity that it is about, as it was given. */
  readonly entity: SeedEntity | undefined;
  /** What else is wrong, as far as that was found out. */
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
