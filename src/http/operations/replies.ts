import type { Clock } from '../../base/clock.js';
import { inOnePiece, inSlices, type Pieces } from '../../base/async/slice.js';
import type { ServiceName } from '../../model/services/services.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Reply } from '../exchange/service.js';

export function xmlReply(status: number, body: Buffer): Reply {
  return {
    status,
    headers: ['Content-Type', 'application/xml', 'Cache-Control', 'no-cache'],
    body,
  };
}

/** A document that may be long and is rendered in slices. */
export function longXmlReply(
  document: Pieces<Buffer>,
  isLong: boolean,
  clock: Clock,
): Reply | Promise<Reply> {
  if (!isLong) return xmlReply(200, inOnePiece(document));
  return inSlices(document, clock).then((body) => xmlReply(200, body));
}

const byteOrderMark = Buffer.from('\ufeff');

/** The answer of an operation that every service has. */
export function documentReply({ service }: Pick<Exchange, 'service'>, document: Buffer): Reply {
  return documentReplies[service](document);
}

const documentReplies: Readonly<Record<ServiceName, (document: Buffer) => Reply>> = {
  table: markedReply,
  queue: (document) => xmlReply(200, document),
};

/**
 * Documents of tables begin with a byte order mark and say nothing about caches (table-service
 * §3.15).
 */
function markedReply(document: Buffer): Reply {
  const body = Buffer.concat([byteOrderMark, document]);
  return { status: 200, headers: ['Content-Type', 'application/xml'], body };
}

export function emptyReply(status: number): Reply {
  return { status, headers: [] };
}
