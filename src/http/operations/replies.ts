import type { Exchange } from '../pipeline/exchange.js';
import type { Reply } from '../pipeline/service.js';

export function xmlReply(status: number, body: Buffer): Reply {
  return {
    status,
    headers: ['Content-Type', 'application/xml', 'Cache-Control', 'no-cache'],
    body,
  };
}

const byteOrderMark = Buffer.from('\ufeff');

/**
 * What an operation that every service has answers. Documents of tables begin with a byte order
 * mark and say nothing about caches (spec table-service §3.15).
 */
export function documentReply({ service }: Pick<Exchange, 'service'>, document: Buffer): Reply {
  if (service !== 'table') return xmlReply(200, document);
  const body = Buffer.concat([byteOrderMark, document]);
  return { status: 200, headers: ['Content-Type', 'application/xml'], body };
}

export function emptyReply(status: number): Reply {
  return { status, headers: [] };
}
