import type { Clock } from '../../base/clock.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { unboundedMemory, type MemoryBudget } from '../../base/async/memory-budget.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import { byLowerName, parseQueryString, type QueryOptions } from '../../wire/http/query-string.js';
import type { ServiceName } from '../../model/services/services.js';
import type { CorsRule } from '../../model/resources/service-properties.js';
import type { Account } from '../../services/accounts/directory.js';
import type { QueryReport } from '../../model/edm/query-report.js';
import type { BodyStream } from './body-stream.js';
import type { Caller } from './caller.js';
import type { Description } from './description.js';
import type { ResponseFault } from './response-fault.js';
import type { AnswerStream } from './reply-stream.js';
import { noLoad, type PartitionLoad } from './request-load.js';

/** The transport of a request: with or without TLS. */
export type Protocol = 'http' | 'https';

/**
 * The memory budget and the work slot of an answer until it is complete. Throws `ServerBusy` when
 * memory is short.
 */
export interface AnswerBudget extends MemoryBudget {
  leave(): void;
}

export interface ExchangeStart {
  /** The addressed service. */
  readonly service: ServiceName;
  readonly requestId: string;
  readonly timeMicros: number;
  readonly startMs: number;
  readonly protocol: Protocol;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly awaitsContinue: boolean;
}

/** What an account's part of a URL names. */
export interface Address {
  readonly account: Account;
  readonly secondary: boolean;
  /** `/account` in path style, empty in host style. */
  readonly accountPath: string;
  /** The path after the account, beginning with a slash, as sent. */
  readonly resourcePath: string;
}

/** How a request inside of another has failed. */
export interface PartFailure {
  /** For the client. */
  readonly error: StorageError;
  /** The store failed it, and would fail others alike. A defect need not be that of others. */
  readonly isOfStore: boolean;
}

/**
 * One request and its response on their way through the pipeline. Each stage sets the fields that
 * it finds out; a later stage only reads them.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly service: ServiceName;
  /** Also `x-ms-request-id`. */
  readonly requestId: string;
  /** Microseconds since 1970 at which the request's header had arrived. */
  readonly timeMicros: number;
  readonly startMs: number;
  readonly protocol: Protocol;
  /** As on the request line. */
  readonly method: string;

  /** Set by receive: the path byte for byte as sent, always beginning with a slash. */
  path = '/';
  /** Set by receive: what follows the first question mark, undecoded. */
  queryText = '';
  host = '';
  /**
   * The protocol version. Set by receive, and by authenticate for a signature in the query string,
   * which has its own version. Empty: answers name none.
   */
  version = '';
  /** The request named the version, or the account has set one for requests that do not. */
  isVersionChosen = false;
  clientRequestId: string | undefined = undefined;
  /** Bytes of the body by Content-Length; infinite when the body comes in chunks; 0 without one. */
  bodyBytesDeclared = 0;

  #headCharacters = -1;
  #queryOptions: QueryOptions | undefined = undefined;
  #queryOptionsByLowerName: QueryOptions | undefined = undefined;

  /** Set by address. */
  account: Account | undefined = undefined;
  /** The path after the account, beginning with a slash, as sent. */
  resourcePath = '/';
  /** Scheme, authority and, in path style, the account: the prefix of links in answers. */
  base = '';
  secondary = false;

  /** Set before authenticate, where needed: the rules for the CORS headers of the answer. */
  corsRules: readonly CorsRule[] = noRules;

  /** Set by authenticate. */
  caller: Caller = { kind: 'anonymous' };

  /** Set before authenticate: authenticates a request that is inside of this one. */
  authenticatePart: ((part: Exchange) => Caller | Promise<Caller>) | undefined = undefined;

  /** Set before authenticate: what another URL of this server addresses; undefined for nothing. */
  addressOf: ((path: string, host: string) => Address | undefined) | undefined = undefined;

  /**
   * Set before authenticate: how a request inside of `outer` has failed. Throws what ends the outer
   * request as well.
   */
  failureOfPart: ((outer: Exchange, error: unknown) => PartFailure) | undefined = undefined;

  /** Set by route, and refined by the operation's description, for the record. */
  operation = 'Unknown';
  resource: string | undefined = undefined;
  partitionKey: string | undefined = undefined;
  query: QueryReport | undefined = undefined;
  operationCount = 1;

  /**
   * Set before run by an interceptor: the names of injected faults, and their effect on the answer.
   */
  fault: string | undefined = undefined;
  responseFault: ResponseFault | undefined = undefined;
  /** Set before run to that of the address, and after run to that of the operation. */
  load: readonly PartitionLoad[] = noLoad;

  /** Set before parse, after authorise. Empty when the request has no body. */
  body: Buffer = noBody;
  /** Set instead of `body`, for an operation that consumes its body in pieces. */
  bodyStream: BodyStream | undefined = undefined;
  bytesReceived = 0;
  /** When the body had arrived, on the monotonic clock; 0 when it was not received whole. */
  receivedMs = 0;
  awaitsContinue: boolean;

  /** Bytes in memory of the request's body and answer, as `HeldMemory` counts them. */
  heldBytes = 0;
  /** The part of them that is reserved for an unfinished answer. */
  reservedBytes = 0;
  /** Set before run: creates the memory budget for large reads. */
  openBudget: ((exchange: Exchange) => AnswerBudget) | undefined = undefined;
  #memory: AnswerBudget | undefined = undefined;
  /** The record was made and all memory is released. */
  concluded = false;

  /** The time limit, on the monotonic clock. Set before run. */
  deadlineMs = Infinity;
  /** Set when the sent answer was first found unread: the deadline of the client to read it. */
  takenByMs = Infinity;

  /** Set by send. 0 until a response has begun. */
  status = 0;
  errorCode: ErrorCode | undefined = undefined;
  /** When the answer began, on the monotonic clock; 0 before, and when a fault made it. */
  answeredMs = 0;
  /** Name, value, name, value, …: the header fields of the answer. */
  answerHeaders: readonly string[] = noHeaders;
  /** Set while an answer is sent in pieces. */
  answerStream: AnswerStream | undefined = undefined;
  bytesSent = 0;

  constructor(request: IncomingMessage, response: ServerResponse, start: ExchangeStart) {
    this.request = request;
    this.response = response;
    this.service = start.service;
    this.requestId = start.requestId;
    this.timeMicros = start.timeMicros;
    this.startMs = start.startMs;
    this.protocol = start.protocol;
    this.awaitsContinue = start.awaitsContinue;
    this.method = request.method ?? '';
  }

  /** The value of a header, by its lower-case name. Repeated fields are joined by a comma. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.join(', ');
  }

  /** Stops the time limit during work that waits for others, and has limits of its own. */
  async awaiting<T>(work: Promise<T>, clock: Pick<Clock, 'monotonicMs'>): Promise<T> {
    const leftMs = this.deadlineMs - clock.monotonicMs();
    this.deadlineMs = Infinity;
    try {
      return await work;
    } finally {
      this.deadlineMs = clock.monotonicMs() + leftMs;
    }
  }

  /**
   * Lets the time limit be one of each step of work that is as long as its bytes are many. To be
   * called before the first; the returned function ends a step.
   */
  limitSteps(clock: Pick<Clock, 'monotonicMs'>): () => void {
    const stepMs = this.deadlineMs - clock.monotonicMs();
    return () => {
      this.deadlineMs = clock.monotonicMs() + stepMs;
    };
  }

  /** Name, value, name, value, …: every header field as sent. */
  get rawHeaders(): readonly string[] {
    return this.request.rawHeaders;
  }

  /** The characters of the target and the header fields together. */
  get headCharacters(): number {
    if (this.#headCharacters >= 0) return this.#headCharacters;
    const { url = '', rawHeaders } = this.request;
    let characters = url.length;
    for (const text of rawHeaders) characters += text.length;
    this.#headCharacters = characters;
    return characters;
  }

  /** The query string, decoded on first use. Throws `InvalidInput` when it cannot be. */
  get queryOptions(): QueryOptions {
    this.#queryOptions ??= parseQueryString(this.queryText);
    return this.#queryOptions;
  }

  /** The query string under lower-case names, for services that match names in any case. */
  get queryOptionsByLowerName(): QueryOptions {
    this.#queryOptionsByLowerName ??= byLowerName(this.queryOptions);
    return this.#queryOptionsByLowerName;
  }

  /** Takes over the members of an operation's description that are present. */
  note(description: Description): void {
    const { operation, container, partitionKey, operationCount, query, errorCode } = description;
    if (operation !== undefined) this.operation = operation;
    if (container !== undefined) this.resource = container;
    if (partitionKey !== undefined) this.partitionKey = partitionKey;
    if (operationCount !== undefined) this.operationCount = operationCount;
    if (query !== undefined) this.query = query;
    if (errorCode !== undefined) this.errorCode = errorCode;
  }

  /** The memory budget for large reads. */
  get memory(): MemoryBudget {
    this.#memory ??= this.openBudget?.(this);
    return this.#memory ?? unboundedMemory;
  }

  /** The answer is complete, or there will be none. */
  leaveBudget(): void {
    this.#memory?.leave();
  }

  /** True once the storage work has begun. */
  get running(): boolean {
    return this.deadlineMs !== Infinity;
  }

  get replied(): boolean {
    return this.status !== 0;
  }
}

export const noBody = Buffer.alloc(0);
const noRules: readonly CorsRule[] = [];
const noHeaders: readonly string[] = [];
