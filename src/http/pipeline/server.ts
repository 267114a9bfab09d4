import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import type { Timer } from '../../base/timers.js';
import { Connection } from './connection.js';
import { Exchange } from './exchange.js';
import type { HttpLimits } from './limits.js';
import { Pipeline, type PipelineOptions } from './pipeline.js';
import type { RequestObserver, RequestRecord } from './record.js';
import { conclude, observe } from './record-exchange.js';
import { deadlineCheckMs } from './run.js';
import { parserFailure, refusalText } from './refusal.js';

export interface HttpServerOptions extends PipelineOptions {
  readonly randomness: Randomness;
  readonly observers: readonly RequestObserver[];
}

/**
 * One listening port of one service.
 *
 * Every request gets exactly one record: when its response has been handed to the system, or when
 * its connection has closed before that, or when the parser gave up on it.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #pipeline: Pipeline;
  readonly #server: Server;
  readonly #connections = new Map<Duplex, Connection>();
  #inFlight = 0;
  #dropped = 0;
  #closed: Promise<void> | undefined;
  #sweeper: Timer | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#pipeline = new Pipeline(options);
    this.#server = createServer(nodeOptions(options.limits));
    this.#server.maxConnections = options.limits.connectionsMax;
    this.#attach();
  }

  /** Requests that have arrived and have no record yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Resolves with the port when connections are accepted; port 0 takes a free one. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) =>
          this.#options.logger.error('the listening socket failed', { error }),
        );
        this.#sweep();
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /**
   * Stops accepting, lets requests in flight finish for a bounded time, and closes every
   * connection. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { timers, limits } = this.#options;
    this.#pipeline.beginClosing();
    if (!this.#server.listening) return;
    // The http server's own close destroys connections whose answer has not been flushed yet.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    for (const { open, socket } of this.#connections.values())
      if (open.size === 0) socket.destroy();
    const timer = timers.start(limits.closeTimeoutMs, () => this.#destroyAll(), undefined);
    await closed;
    timer.close();
    this.#sweeper?.close();
    this.#server.close();
  }

  /** Answers exchanges whose time has passed, again and again until the server has closed. */
  readonly #sweep = (): void => {
    const nowMs = this.#options.clock.monotonicMs();
    for (const { open } of this.#connections.values()) {
      for (const exchange of open)
        if (exchange.deadlineMs <= nowMs) this.#pipeline.expire(exchange);
    }
    this.#sweeper = this.#options.timers.start(deadlineCheckMs, this.#sweep, undefined);
  };

  #destroyAll(): void {
    this.#options.logger.warn('requests in flight were cut off', { count: this.#inFlight });
    for (const { socket } of this.#connections.values()) socket.destroy();
  }

  #attach(): void {
    const server = this.#server;
    server.on('connection', (socket: Socket) => this.#connected(socket));
    server.on('request', (request, response) => this.#received(request, response, false));
    server.on('checkContinue', (request, response) => this.#received(request, response, true));
    server.on('checkExpectation', (request, response) => this.#received(request, response, false));
    server.on('connect', (request, socket) => {
      const connection = this.#connections.get(socket);
      if (connection !== undefined) this.#refuse(connection, 405, request.method ?? '');
    });
    server.on('clientError', (error, socket) => this.#broken(error, socket));
    server.on('drop', () => {
      // One entry for many: whoever opens connections without end should not fill the log.
      if (this.#dropped++ % 1000 === 0) {
        this.#options.logger.warn('too many connections', { dropped: this.#dropped });
      }
    });
  }

  #connected(socket: Socket): void {
    const connection = new Connection(socket);
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#connections.delete(socket);
      for (const exchange of connection.open) this.#concluded(exchange, connection, true);
    });
  }

  #received(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const { clock, randomness } = this.#options;
    const connection = this.#connections.get(request.socket);
    invariant(connection !== undefined, 'a request comes over a known connection');
    const exchange = new Exchange(request, response, {
      service: this.#options.service.name,
      requestId: randomness.uuid(),
      timeMicros: clock.nowMicros(),
      startMs: clock.monotonicMs(),
      protocol: 'http',
      awaitsContinue,
    });
    connection.open.add(exchange);
    this.#inFlight++;
    response.once('finish', () => this.#concluded(exchange, connection, false));
    response.on('error', ignoreLostClient);
    void this.#pipeline.serve(exchange);
  }

  #concluded(exchange: Exchange, connection: Connection, aborted: boolean): void {
    if (!connection.open.delete(exchange)) return;
    this.#inFlight--;
    conclude(exchange, { aborted, endMs: this.#options.clock.monotonicMs() }, this.#options);
    if (connection.open.size > 0) return;
    if (connection.refusal !== undefined) this.#endWith(connection, connection.refusal);
    else if (this.#closed !== undefined) connection.socket.destroySoon();
  }

  /** The parser gave up, a time limit passed or the connection broke. */
  #broken(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.refusal !== undefined) return;
    const failure = parserFailure(error);
    const silent = connection.socket.bytesRead === 0;
    if (failure === undefined || silent || !socket.writable) socket.destroy();
    else this.#refuse(connection, failure.status, '');
  }

  #refuse(connection: Connection, status: number, method: string): void {
    const { randomness } = this.#options;
    const { receiving } = connection;
    const requestId = receiving?.requestId ?? randomness.uuid();
    connection.refusal = refusalText(status, requestId);
    if (receiving === undefined) this.#recordRefused(requestId, status, method);
    else if (receiving.replied) connection.refusal = '';
    else receiving.status = status;
    if (receiving !== undefined || connection.open.size === 0) {
      this.#endWith(connection, connection.refusal);
    }
  }

  #endWith({ socket }: Connection, text: string): void {
    const { timers, limits } = this.#options;
    socket.end(text);
    const timer = timers.start(limits.lingerMs, () => socket.destroy(), undefined);
    socket.once('close', () => timer.close());
  }

  #recordRefused(requestId: string, status: number, method: string): void {
    const { clock, service } = this.#options;
    const refused = { service: service.name, requestId, status, method };
    observe(refusedRecord(clock.nowMicros(), refused), {
      observers: this.#options.observers,
      logger: this.#options.logger,
    });
  }
}

/** How often node looks for clients that are too slow; by default it would be every 30 s. */
const slowClientCheckMs = 1000;

function nodeOptions(limits: HttpLimits): ServerOptions {
  return {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: slowClientCheckMs,
    // A request without Host gets the protocol's own error and its record.
    requireHostHeader: false,
  };
}

/** The connection's close event concludes the exchange; writing into it meanwhile is no news. */
function ignoreLostClient(): void {}

function refusedRecord(
  timeMicros: number,
  refused: Pick<RequestRecord, 'service' | 'requestId' | 'status' | 'method'>,
): RequestRecord {
  return {
    ...refused,
    clientRequestId: undefined,
    timeMicros,
    operation: 'Unknown',
    path: '',
    account: undefined,
    resource: undefined,
    partitionKey: undefined,
    authKind: 'none',
    query: undefined,
    operationCount: 1,
    bytesReceived: 0,
    bytesSent: 0,
    errorCode: undefined,
    fault: undefined,
    load: undefined,
    serverTimeMs: 0,
    aborted: false,
  };
}
