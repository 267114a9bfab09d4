import type { Gate } from '../../base/async/gate.js';
import { messageOf } from '../../base/thrown.js';
import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { nextTurn } from '../../base/async/turns.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { AccountDirectory } from '../../services/accounts/directory.js';
import { isPreflight, loadCorsRules } from '../cors/load-cors-rules.js';
import { address, addressIn } from './address.js';
import { authenticate, type AuthenticateContext } from './authenticate.js';
import type { BearerVerifier } from '../oauth/bearer-verifier.js';
import { authoriseExchange } from './authorise.js';
import { AbortedError } from './body.js';
import { freeBody, type OnGrowth } from './growing-body.js';
import { claimedBy, verifyChecksum } from './content-checksum.js';
import type { Endpoint } from './endpoint.js';
import {
  noBody,
  type AnswerBudget,
  type Exchange,
  type PartFailure,
} from '../exchange/exchange.js';
import type { AdmittedRequest, Interceptor } from './interceptor.js';
import type { HeldMemory } from './held-memory.js';
import type { HttpLimits } from './limits.js';
import { hasLongBody, hasLongHead, isLarge } from './large-request.js';
import { noLoad } from '../exchange/request-load.js';
import { Router } from '../exchange/router.js';
import { heavyTaskGate } from './concurrency-slot.js';
import { WorkSlot } from './work-slot.js';
import { CountedBudget } from './counted-budget.js';
import type { Logger } from '../exchange/logger.js';
import { ResponseBatcher } from './response-batcher.js';
import { checkDeclaredBytes, checkLengthDeclared, receiveBody } from './receive-body.js';
import { PublicKeyGuard } from './public-key-guard.js';
import { receive } from './receive.js';
import { send } from './send.js';
import { setDeadline } from './deadline.js';
import type {
  AnyOperation,
  HttpService,
  Reply,
  Routed,
  StreamedReply,
} from '../exchange/service.js';
import { StreamedAnswer } from './streamed-answer.js';
import { StreamedBody } from './streamed-body.js';
import type { ApiVersionPolicy } from './api-version-policy.js';
import { resetConnection, sendFaulty } from './fault-response.js';
import { ReadWriteLock } from '../../base/async/read-write-lock.js';
import { strictCredentialRules, type CredentialRules } from '../exchange/credential-rules.js';

export interface PipelineOptions {
  readonly service: HttpService;
  readonly accounts: AccountDirectory;
  /** Tried in order before the routes of the service. */
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits: HttpLimits;
  /** Shared by all services of a process. */
  readonly memory: HeldMemory;
  readonly logger: Logger;
  /** Decides on protocol versions. */
  readonly versions: ApiVersionPolicy;
  /** Refuse signatures over a date more than 15 minutes off. */
  readonly checkClockSkew: boolean;
  /** Absent: the rules of the cloud. */
  readonly credentialRules?: CredentialRules;
  /** Absent: bearer tokens are refused. */
  readonly bearer?: BearerVerifier | undefined;
  /** Protects accounts with a public key from web pages. Absent: no further host is allowed. */
  readonly publicKeyGuard?: PublicKeyGuard;
  /** Maps failures of the store to a `StorageError`. Others, and all when absent, are defects. */
  readonly failureOf?: (error: unknown) => StorageError | undefined;
  /** Called in order before the work of a request. Absent: none. */
  readonly interceptors?: readonly Interceptor[];
  /** Readers of this lock do the work of requests. Absent: nothing needs exclusive access. */
  readonly lock?: ReadWriteLock;
}

/**
 * The stages of a request: receive → address → authenticate → route → authorise → parse → run →
 * render → send. Each stage may throw a `StorageError`; the pipeline renders it. The server makes
 * the records, because it also records requests that never get here.
 */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #batcher = new ResponseBatcher();
  readonly #interceptors: readonly Interceptor[];
  readonly #lock: ReadWriteLock;
  readonly #guard: PublicKeyGuard;
  readonly #endpoints: Router<Exchange, Endpoint>;
  readonly #authentication: AuthenticateContext;
  readonly #authenticatePart = (part: Exchange) => authenticate(part, this.#authentication);
  readonly #failureOfPart = (outer: Exchange, error: unknown): PartFailure => {
    if (error instanceof AbortedError) throw error;
    if (error instanceof StorageError) return { error, isOfStore: false };
    const isOfStore = this.#options.failureOf?.(error) !== undefined;
    return { error: this.#failureOf(outer, error), isOfStore };
  };
  readonly #addressOf = (path: string, host: string) =>
    addressIn(path, host, this.#options.accounts);
  readonly #openBudget = (exchange: Exchange): AnswerBudget => {
    const { memory, limits } = this.#options;
    return new CountedBudget(exchange, memory, limits.heldBytesMax);
  };
  readonly #longHeads = heavyTaskGate();
  readonly #longBodies = heavyTaskGate();
  #closing = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#interceptors = options.interceptors ?? [];
    this.#lock = options.lock ?? new ReadWriteLock();
    this.#guard = options.publicKeyGuard ?? new PublicKeyGuard();
    this.#endpoints = new Router(options.endpoints, isAtPath);
    const { service, versions, clock, checkClockSkew, bearer } = options;
    const rules = options.credentialRules ?? strictCredentialRules;
    const { name, signatures, defaultVersion } = service;
    const clocked = { clock, checkClockSkew };
    this.#authentication = {
      service: name,
      signatures,
      defaultVersion,
      versions,
      ...clocked,
      rules,
      bearer,
    };
  }

  /** From now on answers ask the client to close its connection. */
  beginClosing(): void {
    this.#closing = true;
  }

  /** Answers one exchange. Never rejects: every failure becomes an answer or a log entry. */
  async serve(exchange: Exchange): Promise<void> {
    const { service } = this.#options;
    let isRevocable = false;
    try {
      if (isLarge(exchange)) await nextTurn();
      receive(exchange, this.#options.versions);
      const endpoint = this.#endpoints.find(exchange);
      if (endpoint !== undefined) {
        exchange.operation = endpoint.name;
        this.#reply(exchange, await endpoint.answer(exchange));
        return;
      }
      address(exchange, this.#options.accounts);
      this.#guard.checkHost(exchange);
      if (!isPreflight(exchange)) {
        const rules = loadCorsRules(exchange, service.corsRules);
        if (rules !== undefined) await rules;
        const origin = this.#guard.checkOrigin(exchange, service.corsRules);
        if (origin !== undefined) await origin;
        exchange.authenticatePart = this.#authenticatePart;
        exchange.addressOf = this.#addressOf;
        exchange.failureOfPart = this.#failureOfPart;
        const caller = authenticate(exchange, this.#authentication);
        isRevocable = caller instanceof Promise;
        exchange.caller = caller instanceof Promise ? await caller : caller;
      }
      const routed = this.#route(exchange);
      const { operation } = routed;
      authoriseExchange(exchange, routed);
      checkLengthDeclared(exchange);
      if (operation.streamsBody === true) this.#openBody(exchange, routed, isRevocable);
      else if (exchange.bodyBytesDeclared > 0 && operation.bodyBytesMax > 0) {
        await receiveBody(exchange, operation.bodyBytesMax, this.#onGrowthOf(exchange));
        exchange.receivedMs = this.#options.clock.monotonicMs();
        if (isRevocable || this.#hasOtherKeys(exchange)) await this.#admitAgain(exchange, routed);
      }
      const slot = this.#slotOf(exchange);
      const answer = await (slot === undefined
        ? this.#work(exchange, routed, slot)
        : this.#workInTurn(exchange, routed, slot));
      if (answer !== undefined) await answer.send();
    } catch (error) {
      if (exchange.account === undefined) await this.#loadCorsRulesLate(exchange);
      else if (exchange.caller.kind === 'anonymous') this.#nameOperation(exchange);
      this.#fail(exchange, error);
    } finally {
      // The work has ended, even if the client was answered earlier or has left.
      exchange.leaveBudget();
      const freed = freeBody(exchange.body);
      exchange.body = noBody;
      if (freed > 0) this.#options.memory.giveBack(exchange, freed);
    }
  }

  /** Runs the work of a large request when it gets a slot. */
  async #workInTurn(
    exchange: Exchange,
    routed: Routed,
    slot: WorkSlot,
  ): Promise<StreamedAnswer | undefined> {
    try {
      await slot.enter();
      return await this.#work(exchange, routed, slot);
    } finally {
      slot.leave();
    }
  }

  /**
   * The work slot of a request whose work takes much more memory than its bytes; undefined for
   * others.
   */
  #slotOf(exchange: Exchange): WorkSlot | undefined {
    // A request that waits for its client must not occupy a slot.
    if (exchange.bodyStream !== undefined) return undefined;
    if (hasLongHead(exchange)) return this.#slotOfLimit(this.#longHeads, exchange);
    return hasLongBody(exchange) ? this.#slotOfLimit(this.#longBodies, exchange) : undefined;
  }

  #slotOfLimit(limit: Gate, exchange: Exchange): WorkSlot {
    const { clock, limits } = this.#options;
    return new WorkSlot(exchange, limit, { clock, waitMsMax: limits.operationTimeoutMs });
  }

  /**
   * Runs the operation. Stages of a large request that may take long have their own turn. Returns
   * an answer that is still to be sent, in pieces.
   */
  async #work(
    exchange: Exchange,
    routed: Routed,
    slot: WorkSlot | undefined,
  ): Promise<StreamedAnswer | undefined> {
    const { service, clock, limits, memory } = this.#options;
    const { operation, request } = routed;
    const lock = this.#lock;
    const large = isLarge(exchange);
    if (large) await nextTurn();
    if (service.verifiesChecksums && exchange.bodyStream === undefined)
      verifyChecksum(exchange, operation);
    memory.ensureFree(exchange, 0, limits.heldBytesMax);
    const input = operation.parse(request);
    const isReadOnly = changesNothing(operation, input);
    if (operation.describe !== undefined) exchange.note(operation.describe(input));
    if (this.#hasActiveInterceptor) {
      await this.#intercept(exchange, routed, { input, slot, isReadOnly });
    }
    if (large) await nextTurn();
    while (lock.isWriting) await lock.released();
    exchange.openBudget = this.#openBudget;
    const { timeLimits = 1 } = operation;
    setDeadline(exchange, clock.monotonicMs(), timeLimits * limits.operationTimeoutMs);
    const loadOfAddress = operation.addressedLoad?.(input) ?? request.load ?? noLoad;
    exchange.load = loadOfAddress;
    lock.enter();
    let output: unknown;
    try {
      output = await operation.run(input, request);
    } finally {
      lock.leave();
      exchange.bodyStream?.stop();
    }
    if (large) await nextTurn();
    if (operation.describe !== undefined) exchange.note(operation.describe(input, output));
    exchange.load = operation.load?.(output, input) ?? loadOfAddress;
    const rendered = operation.render(output, input, request);
    const reply = rendered instanceof Promise ? await rendered : rendered;
    exchange.leaveBudget();
    if (reply.stream !== undefined) return this.#openAnswer(exchange, reply, isReadOnly);
    if (reply.body !== undefined && isReadOnly) {
      const more = reply.body.length - exchange.reservedBytes;
      memory.ensureFree(exchange, more, limits.heldBytesMax);
    }
    this.#reply(exchange, reply);
    return undefined;
  }

  /**
   * Answers an exchange whose time limit has passed. Storage work in progress is not undone; its
   * result is dropped.
   */
  expire(exchange: Exchange): void {
    const error = new StorageError('OperationTimedOut');
    if (exchange.answerStream === undefined) this.#fail(exchange, error);
    else exchange.answerStream.fail(error);
  }

  /** Requests that were refused before the address stage need CORS headers as well. */
  async #loadCorsRulesLate(exchange: Exchange): Promise<void> {
    if (exchange.header('origin') === undefined || isPreflight(exchange)) return;
    try {
      address(exchange, this.#options.accounts);
      await loadCorsRules(exchange, this.#options.service.corsRules);
    } catch {
      // The request is refused already. Without an account there are no rules.
    }
  }

  /** Fourth stage: finds the operation. The body has not been read. */
  #route(exchange: Exchange): Routed {
    const { service } = this.#options;
    if (isPreflight(exchange)) {
      // Answers to preflights name the version of the request to come (table-service §10.1).
      exchange.version = '';
      const preflight = service.preflight(exchange);
      exchange.operation = preflight.name;
      return preflight;
    }
    const request = service.requestOf(exchange);
    exchange.resource = request.container;
    const { name, operation } = service.route(request);
    exchange.operation = name;
    exchange.partitionKey = request.partitionKey;
    return { name, operation, request };
  }

  /** Finds what a request was for whose sender was refused, for its record. */
  #nameOperation(exchange: Exchange): void {
    if (exchange.operation !== 'Unknown') return;
    try {
      this.#route(exchange);
    } catch {
      // It names no operation; the refusal stands.
    }
  }

  /** Opens a body for reading in pieces. The caller is authorised again at its end. */
  #openBody(exchange: Exchange, routed: Routed, isRevocable: boolean): void {
    const { service, clock, limits, memory } = this.#options;
    const { bodyBytesMax, framingBytesMax = 0 } = routed.operation;
    const bytesMax = bodyBytesMax + framingBytesMax;
    // Whether there is something around the content, the operation sees.
    if (exchange.bodyBytesDeclared > bytesMax) checkDeclaredBytes(exchange, bodyBytesMax);
    const checksum = service.verifiesChecksums ? claimedBy(exchange) : undefined;
    const atEnd = async () => {
      if (isRevocable || this.#hasOtherKeys(exchange)) await this.#admitAgain(exchange, routed);
    };
    exchange.bodyStream = new StreamedBody(exchange, {
      clock,
      limits,
      memory,
      bytesMax,
      checksum,
      atEnd,
    });
  }

  /** Growth counts as activity, so that stalled bodies can be found. */
  #onGrowthOf(exchange: Exchange): OnGrowth {
    const { memory, limits } = this.#options;
    return (bytes) => {
      memory.ensureFree(exchange, bytes, limits.heldBytesMax);
      memory.take(exchange, bytes);
    };
  }

  #hasOtherKeys({ account }: Exchange): boolean {
    return account !== undefined && this.#options.accounts.find(account.name) !== account;
  }

  /**
   * Authorises a caller again after a slow body: the stored policy, the account key or the token
   * may have been revoked meanwhile.
   */
  async #admitAgain(exchange: Exchange, routed: Routed): Promise<void> {
    address(exchange, this.#options.accounts);
    exchange.caller = await authenticate(exchange, this.#authentication);
    authoriseExchange(exchange, routed);
  }

  get #hasActiveInterceptor(): boolean {
    for (const { isActive } of this.#interceptors) if (isActive) return true;
    return false;
  }

  async #intercept(
    exchange: Exchange,
    { name, operation, request }: Routed,
    { input, slot, isReadOnly }: Intercepted,
  ): Promise<void> {
    const admitted: AdmittedRequest = {
      exchange,
      operation: name,
      hasLoad:
        operation.load !== undefined ||
        operation.addressedLoad !== undefined ||
        request.load !== undefined,
      mayGrow: !isReadOnly && operation.onlyDeletes?.(input) !== true,
      entities: () => operation.entities?.(input) ?? request.load ?? [],
      standAside: (wait) => (slot === undefined ? wait() : slot.standAside(wait)),
    };
    for (const each of this.#interceptors) if (each.isActive) await each.beforeWork(admitted);
    // The work of a client that has left is still done, as long as the store is open.
    if (this.#closing && admitted.exchange.response.destroyed) {
      throw new AbortedError('the server closed while a request waited');
    }
  }

  #fail(exchange: Exchange, error: unknown): void {
    const isBroken = exchange.answerStream?.isUnderWay === true;
    if (error instanceof AbortedError && !isBroken) return;
    const failure = error instanceof StorageError ? error : this.#failureOf(exchange, error);
    if (exchange.replied && !isBroken) return;
    exchange.errorCode = failure.code;
    // The end of the connection must not look like the end of the body.
    if (isBroken) return resetConnection(exchange);
    exchange.bodyStream?.stop();
    const reply = this.#options.service.renderError(failure, exchange);
    if (failure.allowed !== undefined) reply.headers.push('Allow', failure.allowed.join(', '));
    if (failure.retryAfterSeconds !== undefined) {
      reply.headers.push('Retry-After', String(failure.retryAfterSeconds));
    }
    this.#reply(exchange, reply);
  }

  #failureOf(exchange: Exchange, error: unknown): StorageError {
    const known = this.#options.failureOf?.(error);
    // Without a cause it is a refusal: the store looks after itself, and has logged why.
    if (known?.code === 'ServerBusy' || (known && known.cause === undefined)) return known;
    const { operation, requestId } = exchange;
    const { logger } = this.#options;
    if (known !== undefined) {
      logger.error('a request failed', { reason: messageOf(error), operation, requestId });
      return known;
    }
    logger.error('a request failed unexpectedly', { error, operation, requestId });
    return new StorageError('InternalError', { cause: error });
  }

  #reply(exchange: Exchange, reply: Reply): void {
    if (exchange.responseFault !== undefined)
      return sendFaulty(exchange, reply, exchange.responseFault);
    const { timers, limits, memory, clock } = this.#options;
    if (!exchange.replied) {
      exchange.answeredMs = clock.monotonicMs();
      if (reply.body !== undefined) {
        memory.take(exchange, reply.body.length - exchange.reservedBytes);
      }
    }
    const batcher = this.#batcher;
    send(exchange, reply, { timers, limits, batcher, closing: this.#closing });
  }

  #openAnswer(
    exchange: Exchange,
    reply: StreamedReply,
    isReadOnly: boolean,
  ): StreamedAnswer | undefined {
    const { responseFault, method } = exchange;
    const { stream } = reply;
    const hasBody = method !== 'HEAD' && stream.bytes !== 0;
    if (responseFault !== undefined && (responseFault.kind === 'drop' || !hasBody)) {
      stream.close();
      sendFaulty(exchange, reply, responseFault);
      return undefined;
    }
    const { timers, limits, memory, clock } = this.#options;
    const sending = { timers, limits, batcher: this.#batcher, closing: this.#closing };
    const answer = new StreamedAnswer(exchange, reply, { ...sending, memory, clock, isReadOnly });
    exchange.answerStream = answer;
    return answer;
  }
}

function isAtPath({ path }: Endpoint, exchange: Exchange): boolean {
  return path === exchange.path;
}

/** The information for interceptors about a request, besides its route. */
interface Intercepted {
  readonly input: unknown;
  readonly slot: WorkSlot | undefined;
  readonly isReadOnly: boolean;
}

/** True when the answer may be dropped and the request repeated. */
function changesNothing(operation: AnyOperation, input: unknown): boolean {
  const { access } = operation;
  if (operation.isReadOnly !== undefined) return operation.isReadOnly(input);
  return access.kind === 'granted' && access.permissions.every((each) => reading.has(each));
}

const reading: ReadonlySet<string> = new Set(['read', 'list']);
