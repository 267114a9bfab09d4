/**
 * The methods of `ContainerClient` of `@azure/storage-blob` that this library calls; a client can
 * be passed directly. Each sends one request, apart from the client's own retries. Declared here,
 * so that programs without blobs do not need the package.
 */
export interface ContainerPort {
  readonly containerName: string;
  getBlobClient(name: string): BlobClientPort;
  getBlockBlobClient(name: string): BlockBlobPort;
  getAppendBlobClient(name: string): AppendBlobPort;
  listBlobsFlat(options: { prefix?: string; includeMetadata?: boolean }): {
    byPage(options: { maxPageSize?: number; continuationToken?: string }): {
      next(): Promise<IteratorResult<BlobListing, unknown>>;
    };
  };
}

/** The ETag that the blob must have, or must not. */
interface Conditions {
  ifMatch?: string;
  ifNoneMatch?: string;
}

interface StoreOptions {
  conditions?: Conditions;
  metadata?: Record<string, string>;
  blobHTTPHeaders?: { blobContentType?: string };
}

/** A blob of any kind. */
export interface BlobClientPort {
  readonly url: string;
  exists(): Promise<boolean>;
  getProperties(): Promise<{
    readonly etag?: string;
    readonly contentLength?: number;
    readonly metadata?: Record<string, string>;
  }>;
  download(): Promise<{
    readonly etag?: string;
    readonly readableStreamBody?: NodeJS.ReadableStream;
  }>;
  setMetadata(metadata: Record<string, string>): Promise<unknown>;
  delete(options: { conditions: Conditions }): Promise<unknown>;
  deleteIfExists(options: { deleteSnapshots: 'include' }): Promise<unknown>;
}

/** A blob that is written as a whole. */
export interface BlockBlobPort extends BlobClientPort {
  upload(body: Uint8Array, length: number, options: StoreOptions): Promise<unknown>;
  uploadData(body: Uint8Array, options: StoreOptions): Promise<unknown>;
  stageBlock(id: string, body: Uint8Array, length: number): Promise<unknown>;
  commitBlockList(ids: string[]): Promise<unknown>;
}

/** A blob that is appended to. */
export interface AppendBlobPort extends BlobClientPort {
  create(options: StoreOptions): Promise<unknown>;
  appendBlock(
    body: Uint8Array,
    length: number,
    options: { conditions: { appendPosition: number } },
  ): Promise<unknown>;
}

/** A page of a listing, in the order of names. */
export interface BlobListing {
  readonly continuationToken?: string;
  /** When the service answered. */
  readonly date?: Date;
  readonly segment: {
    readonly blobItems: readonly {
      readonly name: string;
      readonly metadata?: Record<string, string>;
      readonly properties: { readonly lastModified: Date; readonly contentLength?: number };
    }[];
  };
}
