import type { Clock } from '../../base/clock.js';
import { inOnePiece, inSlices, type Pieces } from '../../base/async/slice.js';
import type { ServiceName } from '../../model/services/services.js';
import type { Exchange } from '../exchange/exchange.js';
import { LargeWork } from '../exchange/large-work.js';
import type { Reply } from '../exchange/service.js';

export function xmlReply(status: number, body: Buffer): Reply {
  return {
    status,
    headers: ['Content-Type', 'application/xml', 'Cache-Control', 'no-cache'],
    body,
  };
}

/** About how long a document is that is put together in slices. */
interface LongAnswer {
  readonly bytes: number;
  readonly exchange: Exchange;
  readonly clock: Clock;
}

/** Those of all services together that are put together at a time. */
const longAnswers = new LargeWork();

/**
 * A document in slices. It counts as memory of its exchange from the beginning, and a few are put
 * together at a time: what that leaves behind until garbage is collected is not counted.
 */
export async function inCountedSlices(
  document: Pieces<Buffer>,
  { bytes, exchange, clock }: LongAnswer,
): Promise<Buffer> {
  exchange.reserve(bytes);
  return longAnswers.run(() => inSlices(document, clock));
}

/** A document that may be long: then it is put together in slices. */
export function longXmlReply(
  document: Pieces<Buffer>,
  isLong: boolean,
  answer: LongAnswer,
): Reply | Promise<Reply> {
  if (!isLong) return xmlReply(200, inOnePiece(document));
  return inCountedSlices(document, answer).then((body) => xmlReply(200, body));
}

const byteOrderMark = Buffer.from('\ufeff');

/** What an operation that every service has answers. */
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
