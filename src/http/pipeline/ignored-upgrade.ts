import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * No other protocol is supported, so a request to upgrade is answered as if it did not ask (RFC
 * 9110, 7.8). But node's parser silently drops bytes after the request in the same read. When that
 * is possible, the answer closes the connection, which tells the client that nothing after the
 * request was processed.
 *
 * Nothing was dropped when exactly the bytes of the request have arrived since the last answer, as
 * clients usually write them.
 */
export function closeWhereBytesMayBeLost(
  request: IncomingMessage,
  response: ServerResponse,
  connection: { readonly bytesSinceAnswer: number },
): void {
  const { headers } = request;
  if (headers.upgrade === undefined) return;
  const { shouldKeepAlive } = response;
  const isChunked = headers['transfer-encoding'] !== undefined;
  const bytes = headBytes(request) + (isChunked ? NaN : Number(headers['content-length'] ?? 0));
  const decide = () => {
    response.shouldKeepAlive = shouldKeepAlive && connection.bytesSinceAnswer === bytes;
  };
  decide();
  request.once('end', decide);
}

function headBytes({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): number {
  const separators = [': '.length, '\r\n'.length];
  let bytes = `${method} ${url} HTTP/${httpVersion}\r\n\r\n`.length;
  for (const [at, text] of rawHeaders.entries()) bytes += text.length + (separators[at % 2] ?? 0);
  return bytes;
}
