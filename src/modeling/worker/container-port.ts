/**
 * What the library needs of one container of blobs: the methods of `ContainerClient` of
 * `@azure/storage-blob` that it calls, so that a client can be given as it is. Each sends one
 * request, apart from the client's own retries. Written out here, so that programs without blobs
 * need no such package.
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

/** Under which ETag a request is good, or for which length of an append blob. */
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

/** A blob that is written whole. */
export interface BlockBlobPort extends BlobClientPort {
  upload(body: Uint8Array, length: number, options: StoreOptions): Promise<unknown>;
  uploadData(body: Uint8Array, options: StoreOptions): Promise<unknown>;
}

/** A blob that grows. */
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
  readonly segment: {
    readonly blobItems: readonly {
      readonly name: string;
      readonly metadata?: Record<string, string>;
      readonly properties: { readonly lastModified: Date; readonly contentLength?: number };
    }[];
  };
}
