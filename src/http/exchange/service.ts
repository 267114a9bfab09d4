import type { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceName } from '../../model/services/services.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { SignedAddress } from '../../wire/auth/sas/string-to-sign-sas.js';
import type { CorsRuleSource } from './cors-rule-source.js';
import type { Access, GrantedAccess, PublicLevel } from './access.js';
import type { Description } from './description.js';
import type { Exchange } from './exchange.js';
import type { ReplyStream } from './reply-stream.js';
import type { EntityName, PartitionLoad } from './request-load.js';

interface ReplyHead {
  readonly status: number;
  /** Replaces the standard reason phrase. */
  readonly reason?: string | undefined;
  /** Name, value, name, value, … The receiver may append to it. */
  readonly headers: string[];
}

/** An answer before the headers that every answer has. */
export interface Reply extends ReplyHead {
  readonly body?: Buffer | undefined;
  readonly stream?: undefined;
}

/** An answer whose body is sent while it is made. */
export interface StreamedReply extends ReplyHead {
  readonly body?: undefined;
  readonly stream: ReplyStream;
}

/**
 * One REST operation of a service. Its parts run in the order of the pipeline; each may throw a
 * `StorageError`, which becomes the answer. `Request` is the service's view of the exchange.
 * (Declared as methods, so that an operation is assignable when its type arguments are unknown.)
 */
export interface Operation<
  Request = unknown,
  Input = unknown,
  Output = unknown,
  Answer extends Reply | StreamedReply = Reply,
> {
  readonly access: Access;
  /** Larger bodies are refused with 413. 0: the body is not read. */
  readonly bodyBytesMax: number;
  /** Bytes that a streamed body may have around its content. Absent: none. */
  readonly framingBytesMax?: number;
  /**
   * `run` consumes the body from `exchange.bodyStream` instead of receiving it whole. Any rest is
   * not read. Absent: false.
   */
  readonly streamsBody?: boolean;
  /** How many times the usual time limit the storage work may take at most. Absent: 1. */
  readonly timeLimits?: number;
  /** Validates the request without storage. */
  parse(request: Request): Input;
  /**
   * The storage work, under the request's time limit. Waiting for a piece of a streamed body stops
   * the limit, and each piece restarts it.
   */
  run(input: Input, request: Request): Promise<Output>;
  /** Long rendering is done in slices. */
  render(output: Output, input: Input, request: Request): Answer | Promise<Answer>;
  /**
   * Further facts for the record of the request. Called after parse, and again with the output
   * after run. Absent: none.
   */
  describe?(input: Input, output?: Output): Description;
  /** True when this input changes nothing. Absent: derived from `access`. */
  isReadOnly?(input: Input): boolean;
  /** True when this input does nothing but delete. Absent: the name of the operation says it. */
  onlyDeletes?(input: Input): boolean;
  /** The entities and partitions that the input names. Absent: none. */
  entities?(input: Input): readonly EntityName[];
  /**
   * The load written or returned. Absent: that of the request's address, or none that a limit of a
   * partition or queue counts.
   */
  load?(output: Output, input: Input): readonly PartitionLoad[];
  /**
   * The load that the input addresses in place of the address, from the begin of the work on, also
   * when that fails.
   */
  addressedLoad?(input: Input): readonly PartitionLoad[];
}

/** An operation whose answer may be whole or a stream. */
export type AnyOperation = Operation<unknown, unknown, unknown, Reply | StreamedReply>;

/** A request with its address read. */
export interface AddressedRequest {
  /** The table, queue or container that the address names, as it spells it. */
  readonly container?: string | undefined;
  /** The key of the addressed partition: a PartitionKey, the name of a blob. */
  readonly partitionKey?: string | undefined;
  /** Further access that parameters of the request need. */
  readonly furtherAccess?: GrantedAccess | undefined;
  /** The load of an operation without `load`. Absent: none. */
  readonly load?: readonly PartitionLoad[] | undefined;
}

export interface Route {
  /** As records and logs show it. */
  readonly name: string;
  readonly operation: AnyOperation;
}

/** A route and the parsed request for it. */
export interface Routed extends Route {
  readonly request: AddressedRequest;
}

/** The containers of a service as signatures, and requests without credentials, refer to them. */
export interface SignedContainers {
  /**
   * The container that the URL names, for signatures that name none and for requests without a
   * credential; undefined when it names none.
   */
  addressOf(exchange: Exchange): SignedAddress | undefined;
  /** The policies in the store; none when there is no such container. */
  storedPolicies(account: string, container: string): Promise<readonly SignedIdentifier[]>;
  /**
   * How much of a container is public; undefined when nothing is, or there is no such container.
   * Absent: containers of the service are never public.
   */
  publicLevel?(account: string, container: string): Promise<PublicLevel | undefined>;
  /**
   * Whether a request needs no credential, so that none is verified. Absent: every request needs
   * one.
   */
  isForAll?(exchange: Exchange): boolean;
}

/** The interface of a storage service to the pipeline. */
export interface HttpService {
  readonly name: ServiceName;
  readonly signatures: SignedContainers;
  /** True when a body is checked against `Content-MD5` and `x-ms-content-crc64`. */
  readonly verifiesChecksums: boolean;
  readonly corsRules: CorsRuleSource;
  /**
   * The version of requests that name none, as the account has set it; undefined when it has not.
   * Absent: accounts cannot set it.
   */
  readonly defaultVersion?: (account: string) => Promise<string | undefined>;
  /** The operation that answers OPTIONS on any path. Must not throw. */
  preflight(exchange: Exchange): Routed;
  /** Parses the address. The body has not been read. */
  requestOf(exchange: Exchange): AddressedRequest;
  /** Finds the operation of a request from `requestOf` by method, address and query string. */
  route(request: AddressedRequest): Route;
  /** Renders an error in the shape of the service. Must not throw. */
  renderError(error: StorageError, exchange: Exchange): Reply;
}
