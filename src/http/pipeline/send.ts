import type { Timers } from '../../base/async/timers.js';
import { crossOriginHeaders } from '../cors/answer-headers.js';
import type { Exchange } from '../exchange/exchange.js';
import type { HttpLimits } from './limits.js';
import type { ResponseBatcher } from './response-batcher.js';
import type { Reply, StreamedReply } from '../exchange/service.js';

export interface SendContext {
  readonly timers: Timers;
  readonly limits: HttpLimits;
  /** The connection accepts no more requests. */
  readonly closing: boolean;
  readonly batcher: ResponseBatcher;
}

/** Bodies up to this size are joined with their header instead of being a second buffer. */
const joinedBytesMax = 16 * 1024;

/**
 * Ninth stage: sends a reply with the headers that every answer has. Only the first reply of an
 * exchange is sent; a later one, such as after a time limit, is dropped.
 */
export function send(exchange: Exchange, reply: Reply, context: SendContext): void {
  const { response } = exchange;
  if (exchange.replied || response.destroyed) return;
  const body = exchange.method === 'HEAD' ? undefined : reply.body;
  const unread = hasUnreadBody(exchange);
  beginAnswer(exchange, reply, unread || context.closing);
  exchange.bytesSent = body?.length ?? 0;
  if (!unread) letRestGo(exchange);
  if (unread) {
    if (body !== undefined) response.write(body);
    else response.flushHeaders();
    linger(exchange, context);
  } else if (body === undefined) context.batcher.end(response, '');
  else if (body.length <= joinedBytesMax) context.batcher.end(response, body.toString('latin1'));
  else response.end(body);
}

/** Completes an answer whose body was written. */
export function endAnswer(exchange: Exchange, context: SendContext): void {
  const { response } = exchange;
  if (hasUnreadBody(exchange)) {
    response.flushHeaders();
    linger(exchange, context);
  } else {
    letRestGo(exchange);
    response.end();
  }
}

/** Writes the head of an answer. `close` asks the client to close its connection. */
export function beginAnswer(
  exchange: Exchange,
  reply: Reply | StreamedReply,
  close: boolean,
): void {
  addHeaders(exchange, reply, close);
  writeHead(exchange, reply);
  exchange.status = reply.status;
  exchange.answerHeaders = reply.headers;
}

function addHeaders(exchange: Exchange, reply: Reply | StreamedReply, close: boolean): void {
  const { headers, stream } = reply;
  const length = stream === undefined ? (reply.body?.length ?? 0) : stream.bytes;
  // The length of a 304 would be that of the body that the client has (RFC 9110, section 8.6).
  const hasLength = length !== undefined && reply.status !== 304;
  if (hasLength) headers.push('Content-Length', String(length));
  headers.push('x-ms-request-id', exchange.requestId);
  if (exchange.version !== '') headers.push('x-ms-version', exchange.version);
  if (exchange.clientRequestId !== undefined) {
    headers.push('x-ms-client-request-id', exchange.clientRequestId);
  }
  if (close) headers.push('Connection', 'close');
  if (exchange.corsRules.length > 0) {
    const request = { origin: exchange.header('origin'), method: exchange.method };
    headers.push(...crossOriginHeaders(exchange.corsRules, request, headers));
  }
}

function writeHead(
  { response }: Exchange,
  { status, reason, headers }: Reply | StreamedReply,
): void {
  if (reason === undefined) response.writeHead(status, headers);
  else response.writeHead(status, reason, headers);
}

/** True when an unread body may be large, or may never arrive. */
export function hasUnreadBody(exchange: Exchange): boolean {
  const { request, bodyBytesDeclared, bytesReceived, bodyStream } = exchange;
  if (request.complete || bodyBytesDeclared === 0) return false;
  if (exchange.awaitsContinue || bodyStream?.isUnwatched === true) return true;
  return bodyBytesDeclared - bytesReceived > discardedBytesMax;
}

/** Node discards the rest of a body only when none of it was read. */
function letRestGo({ bodyStream, request }: Exchange): void {
  if (bodyStream !== undefined) request.resume();
}

/** An unread body up to this size is discarded, and the connection is kept. */
const discardedBytesMax = 64 * 1024;

/**
 * Closing a connection with unread bytes can destroy an answer in transit. So the answer is sent,
 * further input is discarded within limits, and then the connection is closed.
 */
function linger(exchange: Exchange, { timers, limits }: SendContext): void {
  const { request, response } = exchange;
  const timer = timers.start(limits.lingerMs, () => response.end(), undefined);
  let discarded = 0;
  const finish = () => {
    timer.close();
    response.end();
  };
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > limits.lingerBytesMax) finish();
  });
  request.once('end', finish);
  request.once('close', finish);
  request.resume();
}
