import { TLSSocket } from 'node:tls';
import type { Exchange } from '../exchange/exchange.js';
import type { ResponseFault } from '../exchange/response-fault.js';
import { beginAnswer } from './send.js';
import type { Reply, StreamedReply } from '../exchange/service.js';

/** Closes the connection in the way of a peer that has crashed. Nothing is answered. */
export function resetConnection({ request: { socket } }: Exchange): void {
  // Only a plain socket can be told to reset.
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Instead of send: the answer is lost or cut, and the connection closes. */
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
    // There is no body to cut, so the header is cut.
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
