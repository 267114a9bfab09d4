import { STATUS_CODES } from 'node:http';

/** Why the HTTP parser gave up on what a client sent. */
export interface ParserFailure {
  readonly status: 400 | 408 | 431;
}

/** What node's HTTP parser tells when it gives up. */
export interface ParserError extends NodeJS.ErrnoException {
  /** The bytes it gave up on. */
  readonly rawPacket?: Uint8Array;
}

/** `undefined`: the connection broke, there was no request. */
export function parserFailure(error: NodeJS.ErrnoException): ParserFailure | undefined {
  if (error.code === 'HPE_HEADER_OVERFLOW') return { status: 431 };
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408 };
  return error.code?.startsWith('HPE_') === true ? { status: 400 } : undefined;
}

/** What a client is told that speaks plain HTTP to a port of TLS. ASCII. */
export const speakTlsText =
  'This port speaks https, and the request came over http. Begin the URL with https://\n';

/**
 * A whole plain answer for bytes that are not a request any service could be asked to answer.
 * `body` is ASCII.
 */
export function refusalText(status: number, requestId: string, body = ''): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    ...(body === '' ? [] : ['Content-Type: text/plain']),
    `Content-Length: ${body.length}`,
    `x-ms-request-id: ${requestId}`,
    '',
    body,
  ].join('\r\n');
}
