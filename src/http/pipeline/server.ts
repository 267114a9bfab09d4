import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import {
  createServer as createNetServer,
  Server as NetServer,
  type AddressInfo,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import type { Timer } from '../../base/async/timers.js';
import { noteArrival } from '../../base/async/turns.js';
import { isClientHello, TlsAcceptor, type TlsIdentity } from '../tls/tls-acceptor.js';
import { AddressShares } from './address-shares.js';
import { CompactRequest } from './compact-request.js';
import { Connection } from './connection.js';
import type { ConnectionSlots } from './connection-slots.js';
import { Exchange } from '../exchange/exchange.js';
import { ConnectionEnd, takeWhatHasArrived } from './connection-end.js';
import { closeWhereBytesMayBeLost } from './ignored-upgrade.js';
import type { HttpLimits } from './limits.js';
import { ignoreLostClient } from '../exchange/lost-client.js';
import { Pipeline, type PipelineOptions } from './pipeline.js';
import { noLoad } from '../exchange/request-load.js';
import type { RequestObserver, RequestRecord } from '../exchange/record.js';
import { conclude, observe } from './record-exchange.js';
import { deadlineCheckMs } from './deadline.js';
import { refusedHead } from './refused-head.js';
import { parserFailure, refusalText, speakTlsText, type ParserError } from './refusal.js';
import { SampledWarning } from './sampled-log.js';

export interface HttpServerOptions extends PipelineOptions {
  readonly randomness: Randomness;
  readonly observers: readonly RequestObserver[];
  /** Shared by all services of a process. Absent: connections leave enough open files. */
  readonly slots?: ConnectionSlots;
  /** When present, the port only speaks https. */
  readonly tls?: TlsIdentity | undefined;
}

/**
 * One listening port of one service.
 *
 * Every request gets exactly one record: when its response was handed to the system, when its
 * connection closed before that, or when the parser rejected it.
 */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #pipeline: Pipeline;
  /** Reads requests and writes answers. */
  readonly #server: Server;
  /** Accepts connections: the HTTP server itself, or a server in front of the TLS acceptor. */
  readonly #listener: NetServer;
  readonly #acceptor: TlsAcceptor | undefined;
  readonly #connections = new Map<Duplex, Connection>();
  readonly #shares: AddressShares;
  readonly #end: ConnectionEnd;
  /** The TLS connection over an accepted one. */
  readonly #secured = new WeakMap<Socket, Socket>();
  readonly #spokeTls: SampledWarning;
  readonly #tooManyWaiting: SampledWarning;
  #inFlight = 0;
  #closed: Promise<void> | undefined;
  #sweeper: Timer | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#pipeline = new Pipeline(options);
    this.#end = new ConnectionEnd(options);
    this.#server = createServer(nodeOptions(options.limits));
    // A client that has closed its sending side still gets its answers.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#acceptor = options.tls === undefined ? undefined : this.#acceptorOf(options.tls);
    this.#listener = this.#acceptor === undefined ? this.#server : listenerOf(this.#acceptor);
    const { connectionsMax, connectionsPerAddressMax } = options.limits;
    const isIdle = (socket: Socket) => this.#isIdle(socket);
    const { slots } = options;
    this.#shares = new AddressShares({
      connectionsMax,
      connectionsPerAddressMax,
      slots,
      isIdle,
    });
    this.#spokeTls = new SampledWarning(options.logger, 'a client spoke TLS to a port without it');
    this.#tooManyWaiting = new SampledWarning(
      options.logger,
      'a client was cut off that sends requests and does not wait for answers',
    );
    this.#attach();
  }

  /** The number of requests without a record. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Resolves with the port when connections are accepted; port 0 takes a free one. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listener = this.#listener;
      listener.once('error', reject);
      listener.listen({ host, port }, () => {
        listener.off('error', reject);
        listener.on('error', (error) =>
          this.#options.logger.error('the listening socket failed', { error }),
        );
        // A server that is handed connections starts its timeout checks with this event.
        if (listener !== this.#server) this.#server.emit('listening');
        this.#sweep();
        resolve((listener.address() as AddressInfo).port);
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
    if (!this.#listener.listening) return;
    const timer = timers.start(limits.closeTimeoutMs, () => this.#destroyAll(), undefined);
    await takeWhatHasArrived();
    // The http server's own close destroys connections whose answer is not flushed.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#listener, () => resolve());
    });
    this.#acceptor?.closeWaiting();
    for (const connection of this.#connections.values())
      if (connection.open.size === 0) this.#end.endIdle(connection);
    await closed;
    timer.close();
    this.#sweeper?.close();
    this.#server.close();
  }

  /**
   * Periodically answers exchanges whose deadline has passed and cuts off clients that do not read
   * their answers, until the server is closed.
   */
  readonly #sweep = (): void => {
    const nowMs = this.#options.clock.monotonicMs();
    for (const connection of this.#connections.values()) {
      const { open, socket } = connection;
      for (const exchange of open) {
        const { bodyStream, answerStream } = exchange;
        if (exchange.replied && answerStream?.waitsForSource !== true) {
          this.#waitForTaking(exchange, socket, nowMs);
        } else if (bodyStream?.waitsForClient === true) {
          if (bodyStream.lateAtMs <= nowMs) this.#refuse(connection, 408, '');
        } else if (exchange.deadlineMs <= nowMs) this.#pipeline.expire(exchange);
      }
    }
    this.#sweeper = this.#options.timers.start(deadlineCheckMs, this.#sweep, undefined);
  };

  /** Sets the deadline on the first look, because most answers are gone by then. */
  #waitForTaking(exchange: Exchange, socket: Socket, nowMs: number): void {
    if (exchange.takenByMs === Infinity) {
      exchange.takenByMs = nowMs + this.#options.limits.responseTimeoutMs;
    } else if (exchange.takenByMs <= nowMs) socket.destroy();
  }

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
      if (connection === undefined) return;
      // Node no longer reads this connection.
      connection.isDetached = true;
      this.#refuse(connection, 405, request.method ?? '');
    });
    server.on('clientError', (error, socket) => this.#broken(error, socket));
    const dropped = new SampledWarning(this.#options.logger, 'too many connections');
    this.#listener.on('connection', (socket: Socket) => {
      noteArrival();
      const admission = this.#shares.admit(socket);
      if (admission === 'admitted') return;
      dropped.give({ reason: admission });
      socket.destroy();
    });
  }

  #acceptorOf(identity: TlsIdentity): TlsAcceptor {
    const { timers, limits, logger } = this.#options;
    const failed = new SampledWarning(logger, 'a client and the server did not agree on TLS');
    return new TlsAcceptor({
      identity,
      timers,
      handshakeTimeoutMs: limits.handshakeTimeoutMs,
      onSecure: (socket, accepted) => {
        this.#secured.set(accepted, socket);
        this.#server.emit('connection', socket);
      },
      onPlain: (socket) => this.#refusePlain(socket),
      onFailed: (error) => failed.give({ reason: tlsReasonOf(error) }),
    });
  }

  /** Answers a plain HTTP request on a TLS port, readably for the client. */
  #refusePlain(socket: Socket): void {
    const requestId = this.#options.randomness.uuid();
    this.#recordRefused(requestId, 400, '');
    this.#end.endWith(socket, refusalText(400, requestId, speakTlsText));
  }

  #isIdle(accepted: Socket): boolean {
    const connection = this.#connections.get(this.#secured.get(accepted) ?? accepted);
    return connection === undefined || connection.open.size === 0;
  }

  #connected(socket: Socket): void {
    const connection = new Connection(socket, this.#options.clock.monotonicMs());
    this.#connections.set(socket, connection);
    socket.once('end', () => this.#end.clientEnded(connection));
    socket.once('close', () => {
      this.#connections.delete(socket);
      for (const exchange of connection.open) this.#concluded(exchange, connection, true);
    });
  }

  #received(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    // Ignores requests that arrived together with the bytes that caused the cut-off.
    if (request.socket.destroyed) return;
    const { clock, randomness } = this.#options;
    const connection = this.#connections.get(request.socket);
    invariant(connection !== undefined, 'a request comes over a known connection');
    const refused = refusedHead(request);
    if (refused !== undefined || connection.refusal !== undefined) {
      // Nothing behind a refusal is served.
      if (refused !== undefined && connection.refusal === undefined) {
        this.#refuse(connection, refused, request.method ?? '');
      }
      request.resume();
      return;
    }
    const exchange = new Exchange(request, response, {
      service: this.#options.service.name,
      requestId: randomness.uuid(),
      timeMicros: clock.nowMicros(),
      startMs: clock.monotonicMs(),
      protocol: this.#acceptor === undefined ? 'http' : 'https',
      awaitsContinue,
    });
    const isItsTurn = connection.enter(exchange);
    this.#inFlight++;
    response.once('finish', () => {
      // Also emitted when the connection was destroyed under an unread answer.
      if (!connection.socket.destroyed) this.#concluded(exchange, connection, false);
    });
    response.on('error', ignoreLostClient);
    closeWhereBytesMayBeLost(request, response, connection);
    // A request that arrives while its connection closes cannot be answered and is not executed.
    if (isItsTurn && connection.socket.writable) void this.#pipeline.serve(exchange);
    else if (connection.waiting > this.#options.limits.waitingRequestsMax) this.#cutOff(connection);
  }

  /** Cuts off a client that does not wait for answers. */
  #cutOff({ socket }: Connection): void {
    this.#tooManyWaiting.give();
    socket.destroy();
  }

  #concluded(exchange: Exchange, connection: Connection, aborted: boolean): void {
    if (!connection.open.delete(exchange)) return;
    this.#inFlight--;
    exchange.concluded = true;
    this.#options.memory.release(exchange);
    const endMs = this.#options.clock.monotonicMs();
    conclude(exchange, { aborted, endMs }, this.#options);
    if (aborted) return;
    const { socket } = connection;
    connection.answered(endMs);
    if (connection.refusalIsDue) this.#end.endRefused(connection);
    else if (connection.open.size > 0) this.#serveNext(connection);
    else if (this.#closed !== undefined && socket.writable) this.#end.endIdle(connection);
  }

  /** No request is started after an answer that closes the connection. */
  #serveNext(connection: Connection): void {
    if (!connection.socket.writable) return;
    const next = connection.next();
    if (next !== undefined) void this.#pipeline.serve(next);
  }

  /** Handles a parser error, a timeout or a broken connection. */
  #broken(error: ParserError, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.refusal !== undefined) return;
    const failure = parserFailure(error);
    // A streamed body has a time limit per piece instead.
    if (failure?.status === 408 && connection.unwatchStream()) return;
    const silent = connection.socket.bytesRead === 0;
    const spokeTls = error.rawPacket !== undefined && isClientHello(error.rawPacket);
    if (spokeTls) this.#spokeTls.give();
    if (failure === undefined || silent || spokeTls || !socket.writable) socket.destroy();
    else this.#refuse(connection, failure.status, '');
  }

  #refuse(connection: Connection, status: number, method: string): void {
    const { randomness } = this.#options;
    const { receiving } = connection;
    const requestId = receiving?.requestId ?? randomness.uuid();
    connection.refusal = refusalText(status, requestId);
    receiving?.bodyStream?.stop();
    if (receiving === undefined) this.#recordRefused(requestId, status, method);
    else if (receiving.replied) connection.refusal = '';
    else receiving.status = status;
    if (connection.refusalIsDue) this.#end.endRefused(connection);
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

/** How often node checks for slow clients; its default is 30 s. */
const slowClientCheckMs = 1000;

function nodeOptions(limits: HttpLimits): ServerOptions {
  return {
    IncomingMessage: CompactRequest,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: slowClientCheckMs,
    // Duplicate hosts or credentials are joined, so that they are refused and none is picked
    // silently.
    joinDuplicateHeaders: true,
    // A request without Host gets the protocol's own error and a record.
    requireHostHeader: false,
  };
}

/** A listener like an HTTP server's, for an acceptor that does the TLS handshake first. */
function listenerOf(acceptor: TlsAcceptor): NetServer {
  return createNetServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
    acceptor.admit(socket),
  );
}

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
    load: noLoad,
    serverTimeMs: 0,
    aborted: false,
  };
}

/** The short reason of an OpenSSL error, if it has one; the full message is internal. */
function tlsReasonOf(error: Error): string {
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}
