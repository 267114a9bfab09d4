export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * A request header followed by the body as it is. A list repeats a header; undefined leaves it out.
 */
export function requestBytes(
  method: string,
  target: string,
  headers: Headers,
  body: Buffer | undefined,
): Buffer {
  const lines = Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'string' ? [value] : value;
    return values.map((each) => `${name}: ${each}\r\n`);
  });
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  return body === undefined ? head : Buffer.concat([head, body]);
}

export function bodyBytes(body: string | Buffer | undefined): Buffer | undefined {
  return typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
}
