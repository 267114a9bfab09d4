import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * No other protocol is spoken here, so a request that asks for one is answered as if it did not
 * (RFC 9110, 7.8). But node's parser drops what came behind it in the same read, and does not say
 * so. Where that may be, the answer closes the connection, which tells the client that nothing
 * behind the request was looked at.
 *
 * Nothing was dropped where exactly the bytes of the request have come, as clients write them:
 * since the request before it was answered, as the connection counts.
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
