import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { RawConnection, signedRequest } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';

const target = '/devstoreaccount1/Tables';
const json = (name: string): string => `{"TableName":"${name}"}`;

interface Framed {
  readonly what: string;
  /** Replaces `Content-Length`. */
  readonly fields: string;
  /** The bytes after the header, made from the body. */
  readonly sent: (body: string) => string;
  readonly status: number;
  /**
   * True when the connection accepts another request; otherwise it is closed after the response.
   */
  readonly goesOn: boolean;
}

const chunked = 'Transfer-Encoding: chunked';
const oneChunk = (body: string, extension = '', trailers = ''): string =>
  `${body.length.toString(16)}${extension}\r\n${body}\r\n0\r\n${trailers}\r\n`;
const refused = { status: 400, goesOn: false };
const served = { status: 201, goesOn: true };

const table: readonly Framed[] = [
  { what: 'a chunk', fields: chunked, sent: (body) => oneChunk(body), ...served },
  {
    what: 'an extension of a chunk',
    fields: chunked,
    sent: (body) => oneChunk(body, ';a=b;c="d"'),
    ...served,
  },
  {
    what: 'trailers',
    fields: `${chunked}\r\nTrailer: x-ms-date`,
    sent: (body) => oneChunk(body, '', 'x-ms-date: never\r\nAuthorization: none\r\n'),
    ...served,
  },
  {
    what: 'chunks of one byte',
    fields: chunked,
    sent: (body) => `${Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
    ...served,
  },
  {
    what: 'CHUNKED',
    fields: 'transfer-encoding: CHUNKED',
    sent: (body) => oneChunk(body),
    ...served,
  },
  {
    what: 'an empty member of the codings',
    fields: `Transfer-Encoding: , chunked`,
    sent: (body) => oneChunk(body),
    ...served,
  },
  ...['gzip, chunked', 'identity, chunked', 'gzip\r\nTransfer-Encoding: chunked'].map(
    (codings) => ({
      what: `the codings ${JSON.stringify(codings)}`,
      fields: `Transfer-Encoding: ${codings}`,
      sent: (body: string) => oneChunk(body),
      status: 501,
      goesOn: false,
    }),
  ),
  {
    what: 'chunked twice',
    fields: 'Transfer-Encoding: chunked, chunked',
    sent: (body) => oneChunk(oneChunk(body)),
    ...refused,
  },
  { what: 'zip, chunked', fields: 'Transfer-Encoding: zip', sent: (body) => body, ...refused },
  {
    what: 'chunked before another coding',
    fields: 'Transfer-Encoding: chunked, gzip',
    sent: (body) => oneChunk(body),
    ...refused,
  },
  {
    what: 'a length beside chunks',
    fields: `${chunked}\r\nContent-Length: 5`,
    sent: (body) => oneChunk(body),
    ...refused,
  },
  {
    what: 'two lengths',
    fields: 'Content-Length: 20\r\nContent-Length: 30',
    sent: (body) => body,
    ...refused,
  },
  { what: 'a signed length', fields: 'Content-Length: +20', sent: (body) => body, ...refused },
  {
    what: 'a length that is no number',
    fields: 'Content-Length: 5, 5x',
    sent: (body) => body,
    ...refused,
  },
  {
    what: 'a space before the colon',
    fields: 'Transfer-Encoding : chunked',
    sent: (body) => oneChunk(body),
    ...refused,
  },
  {
    what: 'a folded header',
    fields: 'Transfer-Encoding:\r\n chunked\r\nContent-Length: 5',
    sent: (body) => oneChunk(body),
    ...refused,
  },
  ...['', '-1', '0x5', 'f'.repeat(40)].map((size) => ({
    what: `a chunk of '${size}' bytes`,
    fields: chunked,
    sent: (body: string) => `${size}\r\n${body}\r\n0\r\n\r\n`,
    status: 400,
    goesOn: false,
  })),
  {
    what: 'a hexadecimal length',
    fields: 'Content-Length: 0x20',
    sent: (body) => body,
    ...refused,
  },
];

describe('the framing of a body', () => {
  let started: StartedServer;
  before(async () => {
    started = await startServer();
  });
  after(() => started[Symbol.asyncDispose]());

  for (const [place, { what, fields, sent, status, goesOn }] of table.entries()) {
    it(`with ${what} ${goesOn ? 'is read, and the next request has its answer' : 'is refused'}`, async () => {
      using connection = new RawConnection(started.server.tablePort);
      const body = json(`framed${place}`);
      const head = signedRequest({ method: 'POST', target, body }).toString('latin1');
      const fieldsSent = head
        .slice(0, head.indexOf('\r\n\r\n'))
        .replace(/\r\nContent-Length: \d+/i, `\r\n${fields}`);
      const next = signedRequest({ method: 'POST', target, body: json(`behind${place}`) });
      connection.write(Buffer.from(`${fieldsSent}\r\n\r\n${sent(body)}`));
      connection.write(next);
      assert.equal((await connection.read())?.status, status);
      const answer = await connection.read();
      if (goesOn) assert.equal(answer?.status, 201);
      else {
        assert.equal(answer, undefined);
        using other = new RawConnection(started.server.tablePort);
        other.write(signedRequest({ target }));
        assert.doesNotMatch((await other.read())?.text ?? '', new RegExp(`behind${place}"`));
      }
    });
  }
});

describe('the head of a request', () => {
  let started: StartedServer;
  before(async () => {
    started = await startServer();
  });
  after(() => started[Symbol.asyncDispose]());

  /** The statuses of the responses to a header, then to its body followed by another request. */
  async function answers(name: string, change: (head: string) => string): Promise<number[]> {
    using connection = new RawConnection(started.server.tablePort);
    const request = signedRequest({ method: 'POST', target, body: json(name) }).toString('latin1');
    const end = request.indexOf('\r\n\r\n') + 4;
    const statuses: number[] = [];
    connection.write(change(request.slice(0, end)));
    if (change('\r\n\r\n').includes('100-continue')) {
      const [interim] = (await once(connection.socket, 'data')) as [Buffer];
      assert.equal(interim.toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
    }
    connection.write(request.slice(end));
    connection.write(signedRequest({ target }));
    statuses.push((await connection.read())?.status ?? 0, (await connection.read())?.status ?? 0);
    return statuses;
  }

  const withField = (field: string) => (head: string) =>
    head.replace(/\r\n\r\n$/, `\r\n${field}\r\n\r\n`);

  it('with Expect: 100-continue is answered before its body is sent', async () => {
    assert.deepEqual(await answers('expected', withField('Expect: 100-continue')), [201, 200]);
  });

  it('with another Expect is refused, and the connection ends', async () => {
    assert.deepEqual(await answers('unknown', withField('Expect: a-wonder')), [417, 0]);
  });

  it('is refused behind the answer to the request before it, and nothing behind it is served', async () => {
    using connection = new RawConnection(started.server.tablePort);
    const body = json('coded');
    const coded = signedRequest({ method: 'POST', target, body })
      .toString('latin1')
      .replace(/Content-Length: \d+/i, 'Transfer-Encoding: gzip, chunked')
      .replace(body, oneChunk('x'.repeat(300_000)));
    const behind = signedRequest({ method: 'POST', target, body: json('behindcoded') });
    connection.write(signedRequest({ target }));
    connection.write(coded);
    connection.write(behind);
    const statuses: unknown[] = [];
    for (let turn = 0; turn < 3; turn += 1) statuses.push((await connection.read())?.status);
    assert.deepEqual(statuses, [200, 501, undefined]);
    using other = new RawConnection(started.server.tablePort);
    other.write(signedRequest({ target }));
    assert.doesNotMatch((await other.read())?.text ?? '', /coded"/);
  });

  it('may name its target with scheme and authority', async () => {
    const absolute = (head: string) => head.replace(' /', ' http://127.0.0.1/');
    assert.deepEqual(await answers('absolute', absolute), [201, 200]);
  });
});
