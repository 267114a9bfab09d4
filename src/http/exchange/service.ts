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
 * `StorageError`, which becomes the answer. `Request` is what the service's routing made of the
 * exchange. (Written as methods, so that an operation fits where its type arguments are unknown.)
 */
export interface Operation<
  Request = unknown,
  Input = unknown,
  Output = unknown,
  Answer extends Reply | StreamedReply = Reply,
> {
  readonly access: Access;
  /** Bodies beyond this are refused with 413. 0: a body is not read. */
  readonly bodyBytesMax: number;
  /**
   * The body is not gathered before parse: `run` takes it from `exchange.bodyStream`. What `run`
   * leaves of it is not read. Absent: false.
   */
  readonly streamsBody?: boolean;
  /** Validates; no storage. */
  parse(request: Request): Input;
  /**
   * The storage work, under the request's time limit. While it waits for a piece of a streamed body
   * the limit does not run, and each piece renews it.
   */
  run(input: Input, request: Request): Promise<Output>;
  /** What may be long of it is done in slices. */
  render(output: Output, input: Input, request: Request): Answer | Promise<Answer>;
  /**
   * What the record of the request says beyond its route. Asked after parse, and again with the
   * output after run. Absent: nothing.
   */
  describe?(input: Input, output?: Output): Description;
  /** Whether this input changes nothing. Absent: by `access` alone. */
  isReadOnly?(input: Input): boolean;
  /** The entities and partitions that the input names. Absent: it names none. */
  entities?(input: Input): readonly EntityName[];
  /** What was written or returned. Absent: nothing that a limit of a partition or queue counts. */
  load?(output: Output, input: Input): readonly PartitionLoad[];
}

/** An operation whose answer may be whole or a stream. */
export type AnyOperation = Operation<unknown, unknown, unknown, Reply | StreamedReply>;

/** A request with its address read. */
export interface AddressedRequest {
  /** The table or queue that the address names, as it spells it. */
  readonly container?: string | undefined;
  /** Of the entity that the address names. */
  readonly partitionKey?: string | undefined;
}

export interface Route {
  /** As records and logs show it. */
  readonly name: string;
  readonly operation: AnyOperation;
}

/** An operation and what it is asked. */
export interface Routed extends Route {
  readonly request: AddressedRequest;
}

/** What the shared access signatures of a service are for. */
export interface SignedContainers {
  /** What the address names, for signatures that do not name it; undefined when it names none. */
  containerOf(exchange: Exchange): string | undefined;
  /** From the store; none when there is no such container. */
  storedPolicies(account: string, container: string): Promise<readonly SignedIdentifier[]>;
}

/** What a storage service plugs into the pipeline. */
export interface HttpService {
  readonly name: ServiceName;
  readonly signatures: SignedContainers;
  /** A body must match its `Content-MD5`, if the request has one. */
  readonly verifiesContentMd5: boolean;
  readonly corsRules: CorsRuleSource;
  /** The operation that answers OPTIONS on any path. Must not throw. */
  preflight(exchange: Exchange): Routed;
  /** Reads the address. The body has not been read. */
  requestOf(exchange: Exchange): AddressedRequest;
  /** Finds the operation, by method, address and query string, of a request from `requestOf`. */
  route(request: AddressedRequest): Route;
  /** An error in the shape that the service gives it. Must not throw. */
  renderError(error: StorageError, exchange: Exchange): Reply;
}
