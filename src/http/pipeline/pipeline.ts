import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { nextTurn } from '../../base/async/turns.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { AccountDirectory } from '../../services/accounts/directory.js';
import { isPreflight, loadCorsRules } from '../cors/load-cors-rules.js';
import { address } from './address.js';
import { authenticate, type AuthenticateContext } from './authenticate.js';
import type { BearerVerifier } from '../oauth/bearer-verifier.js';
import { authoriseExchange } from './authorise.js';
import { AbortedError } from './body.js';
import { freeBody, type OnGrowth } from './growing-body.js';
import { claimedMd5, verifyContentMd5 } from './content-md5.js';
import type { Endpoint } from './endpoint.js';
import type { AnswerRoom, Exchange } from '../exchange/exchange.js';
import type { AdmittedRequest, Interceptor } from './interceptor.js';
import type { HeldMemory } from './held-memory.js';
import type { HttpLimits } from './limits.js';
import { hasLongBody, hasLongHead, isLarge } from './large-request.js';
import { Router } from '../exchange/router.js';
import { LargeWork } from './large-work.js';
import { WorkPlace } from './work-place.js';
import { CountedRoom } from './counted-room.js';
import type { Logger } from '../exchange/logger.js';
import { ResponseBatcher } from './response-batcher.js';
import { checkDeclaredBytes, checkLengthSaid, receiveBody } from './receive-body.js';
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
  /** Tried in order before the request is looked up as one of the service. */
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits: HttpLimits;
  /** One for all services of a process. */
  readonly memory: HeldMemory;
  readonly logger: Logger;
  /** Which versions of the protocol may be asked for. */
  readonly versions: ApiVersionPolicy;
  /** Refuse signatures over a date more than 15 minutes off. */
  readonly checkClockSkew: boolean;
  /** Absent: those of the cloud. */
  readonly credentialRules?: CredentialRules;
  /** Absent: bearer tokens are not taken. */
  readonly bearer?: BearerVerifier | undefined;
  /** Who keeps pages from accounts with a public key. Absent: no further host is allowed. */
  readonly publicKeyGuard?: PublicKeyGuard;
  /** What a client is told of a failure that is no `StorageError`. Absent: that the server failed. */
  readonly failureOf?: (error: unknown) => StorageError | undefined;
  /** Asked in order before the work of a request. Absent: nothing intercepts. */
  readonly interceptors?: readonly Interceptor[];
  /** Where the work of requests passes. Absent: nobody else wants to work alone. */
  readonly lock?: ReadWriteLock;
}

/**
 * The way of a request: receive → address → authenticate → route → authorise → parse → run → render
 * → send. Each
 * stage may throw a `StorageError`; the pipeline renders it. Recording is the server's part: also
 * what never gets here must be recorded.
 */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #batcher = new ResponseBatcher();
  readonly #interceptors: readonly Interceptor[];
  readonly #lock: ReadWriteLock;
  readonly #guard: PublicKeyGuard;
  readonly #endpoints: Router<Exchange, Endpoint>;
  readonly #authentication: AuthenticateContext;
  readonly #openRoom = (exchange: Exchange): AnswerRoom => {
    const { memory, limits } = this.#options;
    return new CountedRoom(exchange, memory, limits.heldBytesMax);
  };
  readonly #longHeads = new LargeWork();
  readonly #longBodies = new LargeWork();
  #closing = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#interceptors = options.interceptors ?? [];
    this.#lock = options.lock ?? new ReadWriteLock();
    this.#guard = options.publicKeyGuard ?? new PublicKeyGuard();
    this.#endpoints = new Router(options.endpoints, isAtPath);
    const { service, versions, clock, checkClockSkew, bearer } = options;
    const rules = options.credentialRules ?? strictCredentialRules;
    const { name, signatures } = service;
    const clocked = { clock, checkClockSkew };
    this.#authentication = { service: name, signatures, versions, ...clocked, rules, bearer };
  }

  /** From now on answers ask the client to close its connection. */
  beginClosing(): void {
    this.#closing = true;
  }

  /** Answers one exchange. Never rejects: whatever goes wrong becomes an answer or a log entry. */
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
        const caller = authenticate(exchange, this.#authentication);
        isRevocable = caller instanceof Promise;
        exchange.caller = caller instanceof Promise ? await caller : caller;
      }
      const routed = this.#route(exchange);
      const { operation } = routed;
      authoriseExchange(exchange, routed);
      checkLengthSaid(exchange);
      if (operation.streamsBody === true) this.#openBody(exchange, routed, isRevocable);
      else if (exchange.bodyBytesDeclared > 0 && operation.bodyBytesMax > 0) {
        await receiveBody(exchange, operation.bodyBytesMax, this.#onGrowthOf(exchange));
        if (isRevocable || this.#hasOtherKeys(exchange)) await this.#admitAgain(exchange, routed);
      }
      const place = this.#placeOf(exchange);
      const answer = await (place === undefined
        ? this.#work(exchange, routed, place)
        : this.#workInTurn(exchange, routed, place));
      if (answer !== undefined) await answer.send();
    } catch (error) {
      if (exchange.account === undefined) await this.#loadCorsRulesLate(exchange);
      this.#fail(exchange, error);
    } finally {
      // Its work has ended, also when its client has long had another answer or has left.
      exchange.leaveRoom();
      const freed = freeBody(exchange.body);
      if (freed > 0) this.#options.memory.giveBack(exchange, freed);
    }
  }

  /** The work of a large request, once it is its turn. */
  async #workInTurn(
    exchange: Exchange,
    routed: Routed,
    place: WorkPlace,
  ): Promise<StreamedAnswer | undefined> {
    try {
      await place.enter();
      return await this.#work(exchange, routed, place);
    } finally {
      place.leave();
    }
  }

  /** Where it waits for its turn, when its work takes many times the bytes it came in. */
  #placeOf(exchange: Exchange): WorkPlace | undefined {
    // Whoever waits for its client keeps no place that others wait for.
    if (exchange.bodyStream !== undefined) return undefined;
    if (hasLongHead(exchange)) return this.#placeAmong(this.#longHeads, exchange);
    return hasLongBody(exchange) ? this.#placeAmong(this.#longBodies, exchange) : undefined;
  }

  #placeAmong(work: LargeWork, exchange: Exchange): WorkPlace {
    const { clock, limits } = this.#options;
    return new WorkPlace(exchange, work, { clock, waitMsMax: limits.operationTimeoutMs });
  }

  /**
   * The operation itself. What may take long of a large request has a turn for each stage. Returns
   * an answer that is still to be sent, in pieces.
   */
  async #work(
    exchange: Exchange,
    routed: Routed,
    place: WorkPlace | undefined,
  ): Promise<StreamedAnswer | undefined> {
    const { service, clock, limits, memory } = this.#options;
    const { operation, request } = routed;
    const lock = this.#lock;
    const large = isLarge(exchange);
    if (large) await nextTurn();
    if (service.verifiesContentMd5 && exchange.bodyStream === undefined)
      verifyContentMd5(exchange, operation);
    memory.ensureRoom(exchange, 0, limits.heldBytesMax);
    const input = operation.parse(request);
    const isReadOnly = changesNothing(operation, input);
    if (operation.describe !== undefined) exchange.note(operation.describe(input));
    if (this.#hasActiveInterceptor) await this.#intercept(exchange, routed, { input, place });
    if (large) await nextTurn();
    while (lock.isWriting) await lock.released();
    exchange.openRoom = this.#openRoom;
    setDeadline(exchange, clock.monotonicMs(), limits.operationTimeoutMs);
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
    exchange.load = operation.load?.(output, input);
    const rendered = operation.render(output, input, request);
    const reply = rendered instanceof Promise ? await rendered : rendered;
    exchange.leaveRoom();
    if (reply.stream !== undefined) return this.#openAnswer(exchange, reply, isReadOnly);
    if (reply.body !== undefined && isReadOnly) {
      const more = reply.body.length - exchange.reservedBytes;
      memory.ensureRoom(exchange, more, limits.heldBytesMax);
    }
    this.#reply(exchange, reply);
    return undefined;
  }

  /**
   * Answers an exchange whose time has passed. Storage work that has begun is not undone; its
   * result is dropped.
   */
  expire(exchange: Exchange): void {
    const error = new StorageError('OperationTimedOut');
    if (exchange.answerStream === undefined) this.#fail(exchange, error);
    else exchange.answerStream.fail(error);
  }

  /** Also what was refused before its address was looked at may be shown to a page. */
  async #loadCorsRulesLate(exchange: Exchange): Promise<void> {
    if (exchange.header('origin') === undefined || isPreflight(exchange)) return;
    try {
      address(exchange, this.#options.accounts);
      await loadCorsRules(exchange, this.#options.service.corsRules);
    } catch {
      // The request is refused already. Without an account there are no rules.
    }
  }

  /** Fourth stage: what is asked for. The body has not been read. */
  #route(exchange: Exchange): Routed {
    const { service } = this.#options;
    if (isPreflight(exchange)) {
      // The version that answers name is that of the request to come (table-service §10.1).
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

  /** A body that is taken in pieces. What comes of its sender meanwhile shows at its end. */
  #openBody(exchange: Exchange, routed: Routed, isRevocable: boolean): void {
    const { service, clock, limits, memory } = this.#options;
    const { bodyBytesMax: bytesMax } = routed.operation;
    checkDeclaredBytes(exchange, bytesMax);
    const md5 = service.verifiesContentMd5 ? claimedMd5(exchange) : undefined;
    const atEnd = async () => {
      if (isRevocable || this.#hasOtherKeys(exchange)) await this.#admitAgain(exchange, routed);
    };
    exchange.bodyStream = new StreamedBody(exchange, {
      clock,
      limits,
      memory,
      bytesMax,
      md5,
      atEnd,
    });
  }

  /** Bodies are counted in the order in which they grow, so that who stands still is found. */
  #onGrowthOf(exchange: Exchange): OnGrowth {
    const { memory, limits } = this.#options;
    return (bytes) => {
      memory.ensureRoom(exchange, bytes, limits.heldBytesMax);
      memory.take(exchange, bytes);
    };
  }

  #hasOtherKeys({ account }: Exchange): boolean {
    return account !== undefined && this.#options.accounts.find(account.name) !== account;
  }

  /**
   * A client may take its time with a body, and what let it in may be taken back meanwhile: a
   * stored policy, a key of the account, a token.
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
    { name, operation }: Routed,
    { input, place }: { readonly input: unknown; readonly place: WorkPlace | undefined },
  ): Promise<void> {
    const admitted: AdmittedRequest = {
      exchange,
      operation: name,
      hasLoad: operation.load !== undefined,
      entities: () => operation.entities?.(input) ?? [],
      standAside: (wait) => (place === undefined ? wait() : place.standAside(wait)),
    };
    for (const each of this.#interceptors) if (each.isActive) await each.beforeWork(admitted);
    // A client that has not waited gets its work done all the same, as long as there is a store.
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
    // No end of its body may look like the end.
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
    if (known?.code === 'ServerBusy') return known;
    const { operation, requestId } = exchange;
    this.#options.logger.error('a request failed unexpectedly', { error, operation, requestId });
    return known ?? new StorageError('InternalError', { cause: error });
  }

  #reply(exchange: Exchange, reply: Reply): void {
    if (exchange.responseFault !== undefined)
      return sendFaulty(exchange, reply, exchange.responseFault);
    const { timers, limits, memory } = this.#options;
    if (!exchange.replied && reply.body !== undefined) {
      memory.take(exchange, reply.body.length - exchange.reservedBytes);
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

/** Whether its answer may be dropped and asked for again. */
function changesNothing(operation: AnyOperation, input: unknown): boolean {
  const { access } = operation;
  if (operation.isReadOnly !== undefined) return operation.isReadOnly(input);
  return access.kind === 'granted' && access.permissions.every((each) => reading.has(each));
}

const reading: ReadonlySet<string> = new Set(['read', 'list']);
