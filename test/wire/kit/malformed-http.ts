import assert from 'node:assert/strict';
import { sendBytes } from './connection.js';

const host = 'Host: x\r\n';

/** Bytes that are no HTTP request, or one that no storage service accepts. */
export const malformedHttp: readonly (readonly [name: string, bytes: string])[] = [
  ['no HTTP at all', 'hello\r\n\r\n'],
  ['binary', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
  ['a line without version', 'GET /\r\n\r\n'],
  ['an unknown version', `GET / HTTP/9.9\r\n${host}\r\n`],
  ['an unknown method', `FROB / HTTP/1.1\r\n${host}\r\n`],
  ['a space in the target', `GET /a b HTTP/1.1\r\n${host}\r\n`],
  ['no Host', 'GET /devstoreaccount1/Tables HTTP/1.1\r\n\r\n'],
  ['an empty Host', 'GET /devstoreaccount1/Tables HTTP/1.1\r\nHost:\r\n\r\n'],
  ['a Host that is none', 'GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: <script>\r\n\r\n'],
  ['a header without colon', `GET / HTTP/1.1\r\n${host}nonsense\r\n\r\n`],
  ['a header name with a space', `GET / HTTP/1.1\r\n${host}a b: c\r\n\r\n`],
  ['a zero byte in a header', `GET / HTTP/1.1\r\n${host}a: b\u0000c\r\n\r\n`],
  ['a bare CR in a header', `GET / HTTP/1.1\r\n${host}a: b\rc: d\r\n\r\n`],
  ['a negative Content-Length', `POST / HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`],
  ['a Content-Length that is no number', `POST / HTTP/1.1\r\n${host}Content-Length: x\r\n\r\n`],
  [
    'an absurd Content-Length',
    `POST / HTTP/1.1\r\n${host}Content-Length: 99999999999999999999\r\n\r\n`,
  ],
  [
    'two Content-Lengths',
    `POST / HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
  ],
  [
    'Content-Length beside chunks',
    `POST / HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['an unknown transfer encoding', `POST / HTTP/1.1\r\n${host}Transfer-Encoding: zip\r\n\r\n`],
  [
    'a chunk size that is none',
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
  ],
  [
    'a chunk longer than it says',
    `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n2\r\nabcdef\r\n0\r\n\r\n`,
  ],
  ['a huge header', `GET / HTTP/1.1\r\n${host}a: ${'x'.repeat(200_000)}\r\n\r\n`],
  ['a huge target', `GET /${'x'.repeat(200_000)} HTTP/1.1\r\n${host}\r\n`],
  ['10,000 headers', `GET / HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(10_000)}\r\n`],
  ['an asterisk target', `GET * HTTP/1.1\r\n${host}\r\n`],
  ['CONNECT', `CONNECT example:443 HTTP/1.1\r\n${host}\r\n`],
  ['TRACE', `TRACE / HTTP/1.1\r\n${host}\r\n`],
  ['an upgrade', `GET / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`],
  ['an upgrade to HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['an unknown expectation', `GET / HTTP/1.1\r\n${host}Expect: miracles\r\n\r\n`],
  ['an absolute target of another host', `GET http://evil.example/x HTTP/1.1\r\n${host}\r\n`],
  ['dots in the path', `GET /devstoreaccount1/../../etc/passwd HTTP/1.1\r\n${host}\r\n`],
];

/** Statuses of all responses on one connection. */
export function statusesOf(received: Buffer): number[] {
  return [...received.toString('latin1').matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map((match) =>
    Number(match[1]),
  );
}

export const isRefusal = (status: number) => status >= 400 && status < 500;

/** Checks that the text is refused, or the connection closed without a response. */
export async function assertRefused(port: number, text: string): Promise<void> {
  const bytes = Buffer.from(text, 'latin1');
  const { received, closed } = await sendBytes(port, bytes, { endAfter: true });
  const statuses = statusesOf(received);
  assert.ok(statuses.length > 0 || closed, 'neither answered nor closed');
  assert.ok(statuses.every(isRefusal), statuses.join(', '));
}
