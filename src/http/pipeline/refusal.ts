import { STATUS_CODES } from 'node:http';

/** Why the HTTP parser gave up on what a client sent. */
export interface ParserFailure {
  readonly status: 400 | 408 | 431;
}

/** `undefined`: the connection broke, there was no request. */
export function parserFailure(error: NodeJS.ErrnoException): ParserFailure | undefined {
  if (error.code === 'HPE_HEADER_OVERFLOW') return { status: 431 };
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408 };
  return error.code?.startsWith('HPE_') === true ? { status: 400 } : undefined;
}

/** A whole plain answer for bytes that are not a request any service could be asked to answer. */
export function refusalText(status: number, requestId: string): string {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  const headers = `Connection: close\r\nContent-Length: 0\r\nx-ms-request-id: ${requestId}`;
  return `${head}\r\n${headers}\r\n\r\n`;
}
