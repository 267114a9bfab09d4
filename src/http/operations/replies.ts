import type { Clock } from '../../base/clock.js';
import { inOnePiece, inSlices, type Pieces } from '../../base/async/slice.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceName } from '../../model/services/services.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';
import { renderStorageXmlError } from '../../wire/errors/storage-xml.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Reply } from '../exchange/service.js';

export function xmlReply(status: number, body: Buffer): Reply {
  return {
    status,
    headers: ['Content-Type', 'application/xml', 'Cache-Control', 'no-cache'],
    body,
  };
}

/** The number of list items that are rendered at once, whatever their metadata. */
export const itemsAtOnceMax = 4;

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
  blob: (document) => xmlReply(200, document),
};

/**
 * Documents of tables begin with a byte order mark and say nothing about caches (table-service
 * §3.15).
 */
function markedReply(document: Buffer): Reply {
  const body = Buffer.concat([byteOrderMark, document]);
  return { status: 200, headers: ['Content-Type', 'application/xml'], body };
}

/** An error of a service whose errors are all storage XML. */
export function storageErrorReply(error: StorageError, exchange: Exchange): Reply {
  const { status, reason, headers, body } = renderStorageXmlError(error, exchange);
  if (status === 304) {
    // The client would apply headers of a document to its cached copy (blob-service §3.4).
    const others = headers.filter(([name]) => name !== 'Content-Type');
    const { modifiedMicros } = error;
    const state = modifiedMicros === undefined ? [] : modifiedHeaders(modifiedMicros);
    return { status, reason, headers: [...others.flat(), ...state] };
  }
  return { status, reason, headers: headers.flat(), body };
}

export function emptyReply(status: number): Reply {
  return { status, headers: [] };
}
