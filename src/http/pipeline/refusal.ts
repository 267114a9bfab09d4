import { STATUS_CODES } from 'node:http';

/** Why the HTTP parser rejected a client's bytes. */
export interface ParserFailure {
  readonly status: 400 | 408 | 431;
}

/** The error of node's HTTP parser. */
export interface ParserError extends NodeJS.ErrnoException {
  /** The rejected bytes. */
  readonly rawPacket?: Uint8Array;
}

/** `undefined`: the connection broke, there was no request. */
export function parserFailure(error: NodeJS.ErrnoException): ParserFailure | undefined {
  if (error.code === 'HPE_HEADER_OVERFLOW') return { status: 431 };
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408 };
  return error.code?.startsWith('HPE_') === true ? { status: 400 } : undefined;
}

/** The answer to plain HTTP on a TLS port. ASCII. */
export const speakTlsText =
  'This port speaks https, and the request came over http. Begin the URL with https://\n';

/** A complete plain answer to bytes that are no valid request. `body` is ASCII. */
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
