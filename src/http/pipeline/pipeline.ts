import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/timers.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import { parseTimeout } from '../../wire/odata/query-options.js';
import type { AccountDirectory } from '../../services/accounts/directory.js';
import { address } from './address.js';
import { authenticate } from './authenticate.js';
import { authorise } from './authorise.js';
import { AbortedError } from './body.js';
import type { Endpoint } from './endpoint.js';
import type { Exchange } from './exchange.js';
import type { HttpLimits } from './limits.js';
import type { Logger } from './logger.js';
import { expectsBody, receiveBody, requireLength } from './parse.js';
import { receive } from './receive.js';
import { render } from './render.js';
import { run } from './run.js';
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
 * stage may throw a `StorageError`; the pipeline renders it. Recording is the server's part, because
 * also what never gets here must be recorded.
 */
export class Pipeline {
  readonly #options: PipelineOptions;
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
    try {
      receive(exchange);
      const endpoint = this.#endpointOf(exchange);
      if (endpoint === undefined) await this.#serveService(exchange);
      else {
        exchange.operation = endpoint.name;
        this.#reply(exchange, await endpoint.answer(exchange));
      }
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  async #serveService(exchange: Exchange): Promise<void> {
    const { limits, timers } = this.#options;
    const { operation, request } = this.#admit(exchange);
    const timeoutMs = timeoutMsOf(exchange, limits.operationTimeoutMs);
    if (operation.bodyBytesMax > 0) {
      requireLength(exchange);
      if (expectsBody(exchange)) await receiveBody(exchange, operation.bodyBytesMax);
    }
    const input = operation.parse(request);
    const limit = { timers, timeoutMs, onElapsed: this.#onElapsed };
    const output = await run(exchange, { operation, input, request }, limit);
    this.#reply(exchange, operation.render(output, input, request));
  }

  /** The stages before the body: who asks for what, and may they. */
  #admit(exchange: Exchange): Route {
    const { service, accounts, clock, checkClockSkew } = this.#options;
    address(exchange, accounts);
    exchange.caller = authenticate(exchange, { clock, checkClockSkew });
    const route = service.route(exchange);
    exchange.operation = route.name;
    authorise(exchange.caller, route.operation.access);
    return route;
  }

  #endpointOf(exchange: Exchange): Endpoint | undefined {
    for (const endpoint of this.#options.endpoints) {
      if (endpoint.matches(exchange)) return endpoint;
    }
    return undefined;
  }

  readonly #onElapsed = (exchange: Exchange): void => {
    this.#fail(exchange, new StorageError('OperationTimedOut'));
  };

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
    render(exchange, reply, { timers, limits, closing: this.#closing });
  }
}

/** The `timeout` option, in seconds on the wire (spec table-service §10.4). */
function timeoutMsOf(exchange: Exchange, maxMs: number): number {
  const seconds = exchange.queryText === '' ? undefined : parseTimeout(exchange.queryOptions);
  return seconds === undefined ? maxMs : Math.min(seconds * 1000, maxMs);
}
