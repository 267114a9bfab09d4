import type { BodyStream } from '../../src/http/exchange/body-stream.js';
import type { Exchange } from '../../src/http/exchange/exchange.js';
import type { Permission } from '../../src/model/services/permission.js';
import type { ReplyStream } from '../../src/http/exchange/reply-stream.js';
import type { AnyOperation, HttpService } from '../../src/http/exchange/service.js';

export interface StreamWork {
  readonly bodyBytesMax?: number;
  /** Receives the body of a put and returns the text of the response. By default its length. */
  readonly upload?: (body: BodyStream, exchange: Exchange) => Promise<string>;
  /** The response to a get or head. By default nothing. */
  readonly download?: () => ReplyStream;
}

/** A service with two operations that stream bodies and responses. */
export function streamService(work: StreamWork): Partial<HttpService> {
  return {
    verifiesChecksums: true,
    route: (exchange: Exchange) =>
      exchange.method === 'PUT'
        ? { name: 'Upload', operation: uploadOf(exchange, work) }
        : { name: 'Download', operation: downloadOf(work) },
  };
}

function uploadOf(exchange: Exchange, work: StreamWork): AnyOperation {
  const { bodyBytesMax = 1 << 30, upload = lengthOf } = work;
  return {
    access: access('update'),
    bodyBytesMax,
    streamsBody: true,
    parse: () => undefined,
    run: () => {
      const { bodyStream } = exchange;
      if (bodyStream === undefined) throw new Error('no stream');
      return upload(bodyStream, exchange);
    },
    render: (text) => ({ status: 201, headers: [], body: Buffer.from(String(text)) }),
  };
}

function downloadOf(work: StreamWork): AnyOperation {
  return {
    access: access('read'),
    bodyBytesMax: 0,
    parse: () => undefined,
    run: () => Promise.resolve(),
    render: () => ({ status: 200, headers: [], stream: work.download?.() ?? streamOf([]) }),
  };
}

function access(permission: Permission): AnyOperation['access'] {
  return { kind: 'granted', scope: 'object', permissions: [permission], needs: 'all' };
}

async function lengthOf(body: BodyStream): Promise<string> {
  let length = 0;
  for await (const piece of body) length += piece.length;
  return String(length);
}

export interface ObservedStream extends ReplyStream {
  /** The number of requested pieces. */
  readonly asked: number;
  readonly closed: number;
}

/** A stream of these pieces; a function is called and awaited for its piece. */
export function streamOf(
  pieces: readonly (Buffer | (() => Promise<Buffer>))[],
  bytes?: number,
): ObservedStream {
  const seen = { asked: 0, closed: 0 };
  async function* iterate(): AsyncGenerator<Buffer, void, void> {
    for (const piece of pieces) {
      seen.asked += 1;
      yield typeof piece === 'function' ? await piece() : piece;
    }
  }
  return {
    bytes,
    pieces: iterate(),
    close: () => void (seen.closed += 1),
    get asked() {
      return seen.asked;
    },
    get closed() {
      return seen.closed;
    },
  };
}
