import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/timers.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import type { AccountDirectory } from '../../services/accounts/directory.js';
import { address } from './address.js';
import { authenticate } from './authenticate.js';
import { authorise, checkEndpoint } from './authorise.js';
import { AbortedError } from './body.js';
import { verifyContentMd5 } from './content-md5.js';
import type { Endpoint } from './endpoint.js';
import type { Exchange } from './exchange.js';
import type { HttpLimits } from './limits.js';
import type { Logger } from './logger.js';
import { Outbox } from './outbox.js';
import { expectsBody, receiveBody } from './parse.js';
import { receive } from './receive.js';
import { render } from './render.js';
import { setDeadline } from './run.js';
import type { HttpService, Reply, Route } from './service.js';

export interface PipelineOptions {
  readonly service: HttpService;
  readonly accounts: AccountDirectory;
  /** Tried in order before the request is looked up as one of the service. */
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits: HttpLimits;
  readonly logger: Logger;
  /** Refuse signatures over a date more than 15 minutes off. */
  readonly checkClockSkew: boolean;
}

/**
 * The way of a request: receive → address → authenticate → authorise → parse → run → render. Each
 * stage may throw a `StorageError`; the pipeline renders it. Recording is the server's part: also
 * what never gets here must be recorded.
 */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #outbox = new Outbox();
  #closing = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** From now on answers ask the client to close its connection. */
  beginClosing(): void {
    this.#closing = true;
  }

  /** Answers one exchange. Never rejects: whatever goes wrong becomes an answer or a log entry. */
  async serve(exchange: Exchange): Promise<void> {
    const { service, clock, limits } = this.#options;
    try {
      receive(exchange);
      const endpoint = this.#endpointOf(exchange);
      if (endpoint !== undefined) {
        exchange.operation = endpoint.name;
        this.#reply(exchange, await endpoint.answer(exchange));
        return;
      }
      const { operation, request } = this.#admit(exchange);
      if (expectsBody(exchange, operation)) await receiveBody(exchange, operation.bodyBytesMax);
      if (service.verifiesContentMd5) verifyContentMd5(exchange, operation);
      const input = operation.parse(request);
      setDeadline(exchange, clock.monotonicMs(), limits.operationTimeoutMs);
      const output = await operation.run(input, request);
      this.#reply(exchange, operation.render(output, input, request));
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /**
   * Answers an exchange whose time has passed. Storage work that has begun is not undone; its
   * result is dropped.
   */
  expire(exchange: Exchange): void {
    this.#fail(exchange, new StorageError('OperationTimedOut'));
  }

  /** The stages before the body: who asks for what, and may they. */
  #admit(exchange: Exchange): Route {
    const { service, accounts, clock, checkClockSkew } = this.#options;
    address(exchange, accounts);
    exchange.caller = authenticate(exchange, {
      signing: service.signing,
      clock,
      checkClockSkew,
    });
    const route = service.route(exchange);
    exchange.operation = route.name;
    authorise(exchange.caller, route.operation.access);
    checkEndpoint(exchange, route.operation.access);
    return route;
  }

  #endpointOf(exchange: Exchange): Endpoint | undefined {
    for (const endpoint of this.#options.endpoints) {
      if (endpoint.matches(exchange)) return endpoint;
    }
    return undefined;
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (error instanceof AbortedError) return;
    const failure = error instanceof StorageError ? error : this.#unexpected(exchange, error);
    if (exchange.replied) return;
    exchange.errorCode = failure.code;
    this.#reply(exchange, this.#options.service.renderError(failure, exchange));
  }

  #unexpected(exchange: Exchange, error: unknown): StorageError {
    const { operation, requestId } = exchange;
    this.#options.logger.error('a request failed unexpectedly', { error, operation, requestId });
    return new StorageError('InternalError', { cause: error });
  }

  #reply(exchange: Exchange, reply: Reply): void {
    const { timers, limits } = this.#options;
    const outbox = this.#outbox;
    render(exchange, reply, { timers, limits, outbox, closing: this.#closing });
  }
}
