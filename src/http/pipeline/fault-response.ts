import { TLSSocket } from 'node:tls';
import type { Exchange } from '../exchange/exchange.js';
import type { ResponseFault } from '../exchange/response-fault.js';
import { beginAnswer } from './send.js';
import type { Reply, StreamedReply } from '../exchange/service.js';

/** Resets the connection without an answer, as a crashed peer does. */
export function resetConnection({ request: { socket } }: Exchange): void {
  // Only a plain socket supports a reset.
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Replaces send: drops or cuts the answer and closes the connection. */
export function sendFaulty(
  exchange: Exchange,
  reply: Reply | StreamedReply,
  responseFault: ResponseFault,
): void {
  const { request, response } = exchange;
  if (exchange.replied || response.destroyed) return;
  const { socket } = request;
  const body = exchange.method === 'HEAD' ? undefined : reply.body;
  if (responseFault.kind === 'drop' || response.socket === null) {
    exchange.status = reply.status;
    socket.destroy();
  } else if (body === undefined || body.length === 0) {
    // There is no body, so the header is cut.
    exchange.status = reply.status;
    socket.write(`HTTP/1.1 ${reply.status}`);
    socket.destroySoon();
  } else {
    const bytes = Math.min(responseFault.bytes ?? body.length >> 1, body.length - 1);
    beginAnswer(exchange, reply, false);
    exchange.bytesSent = bytes;
    if (bytes === 0) response.flushHeaders();
    else response.write(body.subarray(0, bytes));
    socket.destroySoon();
  }
}
