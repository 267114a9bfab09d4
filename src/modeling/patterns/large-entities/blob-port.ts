/** What is stored beside the bytes of a blob. */
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
  /** Opaque; absent at the end. A page may be empty and have one. */
  readonly cursor?: string;
}

/**
 * Where blobs are kept: what the pattern needs of a container. Each method is one request, but for
 * `put`, which is several for more than 256 MiB.
 */
export interface BlobPort {
  /** Names are never used twice, so a blob that is there already was put by an earlier attempt. */
  put(name: string, bytes: Uint8Array, details: BlobDetails): Promise<void>;
  /** Undefined when there is none. */
  get(name: string): Promise<Uint8Array | undefined>;
  has(name: string): Promise<boolean>;
  /** One that is not there is no error. */
  delete(name: string): Promise<void>;
  /** In the order of names. */
  list(prefix: string, cursor?: string): Promise<BlobPage>;
}
