import type { Randomness } from '../../base/randomness.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import type { GrantedAccess } from '../exchange/access.js';
import { isPermitted } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import type { PartitionLoad } from '../exchange/request-load.js';
import type { Operation, Reply, StreamedReply } from '../exchange/service.js';
import type { Permission } from '../../model/services/permission.js';
import type { SasResponseHeaders } from '../../wire/auth/sas/fields.js';
import { givenImmutability } from '../../wire/blobs/immutability-headers.js';
import { isRepeated, type QueryOptions } from '../../wire/http/query-string.js';
import { parseBlobPath, type BlobResource } from '../../wire/blobs/resource-path.js';
import type { BlobService } from '../../services/blobs/blob-service.js';
import { objectAccess } from '../operations/access.js';
import type { SourceClient } from '../sources/source-client.js';
import { accountName, type ServiceBackend, type ServiceRequest } from '../operations/request.js';

/** The backend of blob operations. */
export interface BlobBackend extends ServiceBackend {
  readonly blobs: BlobService;
  readonly randomness: Randomness;
  /** The client for copies from other servers. Undefined: no other server is asked. */
  readonly sources: SourceClient | undefined;
  /** Bytes of one block that clients may send. */
  readonly blockBytesMax: number;
}

/** `Answer`: `StreamedReply` for an operation that sends its answer in pieces. */
export type BlobOperation<
  Input = unknown,
  Output = unknown,
  Answer extends Reply | StreamedReply = Reply,
> = Operation<BlobRequest, Input, Output, Answer>;

export type AnyBlobOperation = BlobOperation<unknown, unknown, Reply | StreamedReply>;

/** Headers that read or write the tags of a blob, whatever the operation (blob-service §4.3). */
const tagHeaders = ['x-ms-tags', 'x-ms-if-tags'];

/** One request to the blob service. Throws `InvalidUri`. */
export class BlobRequest implements ServiceRequest<BlobBackend> {
  readonly backend: BlobBackend;
  readonly exchange: Exchange;
  readonly method: string;
  readonly resource: BlobResource;

  constructor(backend: BlobBackend, exchange: Exchange) {
    this.backend = backend;
    this.exchange = exchange;
    this.method = exchange.method;
    this.resource = parseBlobPath(exchange.resourcePath, this.query.has('restype'));
  }

  get account(): string {
    return accountName(this.exchange);
  }

  get version(): string {
    return this.exchange.version;
  }

  /** By lower-case name. Throws `InvalidInput` when the query string cannot be decoded. */
  get query(): QueryOptions {
    return this.exchange.queryOptionsByLowerName;
  }

  /**
   * A parameter that names what the request is about. Throws `InvalidQueryParameterValue` when it
   * is sent twice, because the intended value is unknown.
   */
  named(name: string): string | undefined {
    const value = this.query.get(name);
    if (value === undefined || !isRepeated(this.exchange.queryText, name)) return value;
    throw invalidQueryParameter(name, value, `The query string has ${name} twice; send it once.`);
  }

  get container(): string | undefined {
    return this.resource.kind === 'service' ? undefined : this.resource.container;
  }

  /** The name of the addressed blob: each blob is a partition. */
  get partitionKey(): string | undefined {
    return this.resource.kind === 'blob' ? this.resource.blob : undefined;
  }

  /** A request that names a blob counts for it. */
  get load(): readonly PartitionLoad[] | undefined {
    const { partitionKey } = this;
    return partitionKey === undefined ? undefined : [{ partitionKey, count: 1 }];
  }

  get furtherAccess(): GrantedAccess | undefined {
    const permissions: Permission[] = [];
    if (tagHeaders.some((name) => this.header(name) !== undefined)) permissions.push('tag');
    if (givenImmutability(this.header) !== undefined) permissions.push('protect');
    return permissions.length === 0 ? undefined : objectAccess(...permissions);
  }

  /**
   * False for a caller with the permission to create blobs and not to write: an existing blob must
   * stay as it is (blob-service §4.3).
   */
  get mayOverwrite(): boolean {
    return isPermitted(this.exchange.caller, 'object', 'write');
  }

  /** The headers that a signature puts in place of those of the blob (blob-service §4.3). */
  get responseHeaders(): SasResponseHeaders {
    const { caller } = this.exchange;
    return caller.kind === 'container-sas' ? (caller.responseHeaders ?? {}) : {};
  }

  /** The value of a header, by its lower-case name. */
  readonly header = (name: string): string | undefined => this.exchange.header(name);
}
