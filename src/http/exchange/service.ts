import type { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceName } from '../../model/services/services.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { CorsRuleSource } from './cors-rule-source.js';
import type { Access } from './access.js';
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
  /**
   * `run` consumes the body from `exchange.bodyStream` instead of receiving it whole. Any rest is
   * not read. Absent: false.
   */
  readonly streamsBody?: boolean;
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
  /** The entities and partitions that the input names. Absent: none. */
  entities?(input: Input): readonly EntityName[];
  /** The load written or returned. Absent: none that a partition or queue limit counts. */
  load?(output: Output, input: Input): readonly PartitionLoad[];
}

/** An operation whose answer may be whole or a stream. */
export type AnyOperation = Operation<unknown, unknown, unknown, Reply | StreamedReply>;

/** A request with its address read. */
export interface AddressedRequest {
  /** The table or queue that the address names, as it spells it. */
  readonly container?: string | undefined;
  /** The partition key of the addressed entity. */
  readonly partitionKey?: string | undefined;
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

/** The containers of a service that shared access signatures refer to. */
export interface SignedContainers {
  /**
   * The addressed container, for signatures that do not name theirs; undefined when there is none.
   */
  containerOf(exchange: Exchange): string | undefined;
  /** The policies in the store; none when there is no such container. */
  storedPolicies(account: string, container: string): Promise<readonly SignedIdentifier[]>;
}

/** The interface of a storage service to the pipeline. */
export interface HttpService {
  readonly name: ServiceName;
  readonly signatures: SignedContainers;
  /** True when a body is checked against `Content-MD5`. */
  readonly verifiesContentMd5: boolean;
  readonly corsRules: CorsRuleSource;
  /** The operation that answers OPTIONS on any path. Must not throw. */
  preflight(exchange: Exchange): Routed;
  /** Parses the address. The body has not been read. */
  requestOf(exchange: Exchange): AddressedRequest;
  /** Finds the operation of a request from `requestOf` by method, address and query string. */
  route(request: AddressedRequest): Route;
  /** Renders an error in the shape of the service. Must not throw. */
  renderError(error: StorageError, exchange: Exchange): Reply;
}
