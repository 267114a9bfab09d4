/** Metadata and content type of a blob. */
export interface BlobDetails {
  /** Names of letters, digits and _; values of printable ASCII. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
}

/** A blob of a listing. */
export interface ListedBlob {
  readonly name: string;
  /** Microseconds since 1970, by the clock of the blob service, in whole seconds. */
  readonly modifiedMicros: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** One page of a listing of blobs. */
export interface BlobPage {
  readonly blobs: readonly ListedBlob[];
  /**
   * The time of the answer by the clock of the blob service, as `modifiedMicros`; if it is known.
   */
  readonly serviceMicros?: number;
  /** Opaque; absent at the end. A page may be empty and have one. */
  readonly cursor?: string;
}

/**
 * A container of blobs. Each method sends one request unless it says otherwise; a `put` of more
 * than 256 MiB sends several.
 */
export interface BlobPort {
  /** The URL of a blob. Needed for locations with an address. Sends nothing. */
  addressOf?(name: string): string;
  /** Names are never reused: an existing blob was put by an earlier attempt, and stays. */
  put(name: string, bytes: Uint8Array, details: BlobDetails): Promise<void>;
  /** Undefined when there is none. */
  get(name: string): Promise<Uint8Array | undefined>;
  has(name: string): Promise<boolean>;
  /** Succeeds when there is no such blob. */
  delete(name: string): Promise<void>;
  /** In the order of names. */
  list(prefix: string, cursor?: string): Promise<BlobPage>;
}
