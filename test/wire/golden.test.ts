import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WireClient } from './kit/client.js';
import { readResponse, type WireResponse } from './kit/response.js';
import { authorizationOf } from './kit/signature.js';
import { createServer } from '../../src/app/index.js';

// Golden transcripts: `test/golden/*.http`, one conversation a file, each with a server of its own.
//
// A file is bytes: lines end in CRLF. Its first line says what it shows and where the specification
// has it. `=== request` and `=== response` on a line of their own open a section; the bytes of a
// message are what follows, without the last CRLF before the next section or the end of the file.
//
// The status line and the body must be equal byte for byte. Headers must be equal as a set, names
// as spelled; `Content-Length`, `Transfer-Encoding`, `Connection` and `Keep-Alive` may come besides.
//
// What differs from run to run is a placeholder. One with a label stands for one value throughout
// the file; the others match anew each time.
//
//     {{authority}}      host and port of the server
//     {{now}}            in a request: the date; {{authorization}}: the signature; {{length}}: of the body
//     {{guid:label}}     a lower-case GUID. `guid:request` is bound anew in each response, as are
//                        `guid:outer` and `guid:inner`, the boundaries of a batch
//     {{stamp:label}}    a Timestamp;  {{etag:label}} the same digits as an ETag has them
//     {{date}} {{time}}  an HTTP date, the time in an error
//     {{token}} {{number}} {{any}}   a continuation token, digits, anything up to the end of the line
//     {{lf}}             a line feed without a carriage return

const folder = fileURLToPath(new URL('../../../test/golden/', import.meta.url));

interface Section {
  readonly kind: 'request' | 'response';
  readonly text: string;
}

function sectionsOf(file: string): Section[] {
  const text = readFileSync(`${folder}${file}`, 'utf8');
  assert.doesNotMatch(text, /(?<!\r)\n/, `${file} has a line that does not end in CRLF`);
  return text
    .split(/^=== /m)
    .slice(1)
    .map((section) => {
      const [, kind, content] = /^(request|response)\r\n([^]*)\r\n$/.exec(section) ?? [];
      assert.ok(kind === 'request' || kind === 'response', `a section of ${file}: ${section}`);
      return { kind, text: content ?? '' };
    });
}

const patterns: Readonly<Record<string, string>> = {
  guid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  stamp: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{0,6}[1-9])?Z',
  etag: '\\d{4}-\\d\\d-\\d\\dT\\d\\d%3A\\d\\d%3A\\d\\d(?:\\.\\d{0,6}[1-9])?Z',
  date: '\\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT',
  time: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{7}Z',
  token: '1!\\d+![A-Za-z0-9*_-]*',
  number: '\\d+',
  any: '[^\\r\\n]+',
  lf: '\\n',
};

/** Labels whose value is another one in each response. */
const perResponse = ['guid:request', 'guid:outer', 'guid:inner', 'guid:any'];

class Transcript {
  readonly #client: WireClient;
  /** Labelled values, stamps with colons. */
  readonly #values = new Map<string, string>();

  constructor(client: WireClient) {
    this.#client = client;
  }

  async exchange(request: string): Promise<WireResponse> {
    const { account, key, authority } = this.#client;
    const date = new Date().toUTCString();
    const [head = '', ...rest] = request.split('\r\n\r\n');
    const body = this.#fill(rest.join('\r\n\r\n'));
    const [method = '', target = ''] = head.split(' ');
    const scheme = 'SharedKeyLite';
    const authorization = authorizationOf({ scheme, account, key, method, target, date });
    const filled = this.#fill(head)
      .replaceAll('{{now}}', date)
      .replaceAll('{{authorization}}', authorization)
      .replaceAll('{{length}}', String(Buffer.byteLength(body)));
    assert.doesNotMatch(filled + body, /\{\{/, 'a placeholder of the request has no value');
    assert.ok(filled.includes(authority));
    return this.#client.sendRaw(Buffer.from(`${filled}\r\n\r\n${body}`));
  }

  check(expected: string, response: WireResponse): void {
    for (const label of perResponse) this.#values.delete(label);
    const wanted = readResponse(Buffer.from(expected), { toHead: false, ended: true })?.response;
    assert.ok(wanted, `a response of the transcript: ${expected}`);
    this.#checkHead(wanted, response);
    const bodyStart = expected.indexOf('\r\n\r\n') + 4;
    this.#match(expected.slice(bodyStart), response.text, 'the body');
  }

  #checkHead(wanted: WireResponse, response: WireResponse): void {
    assert.equal(
      `${response.status} ${response.reason}`,
      `${wanted.status} ${wanted.reason}`,
      response.text,
    );
    const names = (headers: WireResponse['headers']) => headers.map(([name]) => name).sort();
    const listed = new Set(wanted.headers.map(([name]) => name));
    const framing = new Set(['Content-Length', 'Transfer-Encoding', 'Connection', 'Keep-Alive']);
    const headers = response.headers.filter(([name]) => listed.has(name) || !framing.has(name));
    assert.deepEqual(names(headers), names(wanted.headers));
    for (const [name, value] of wanted.headers) {
      this.#match(value, response.header(name) ?? '', name);
    }
  }

  /** Matches a text with placeholders and binds their values. */
  #match(expected: string, actual: string, what: string): void {
    const labels: string[] = [];
    const pattern = this.#authorised(expected)
      .split(/(\{\{[^}]+\}\})/)
      .map((piece) => {
        const label = /^\{\{(.+)\}\}$/.exec(piece)?.[1];
        if (label === undefined) return piece.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
        labels.push(label);
        return `(${patterns[label.split(':')[0] ?? ''] ?? assert.fail(`placeholder ${piece}`)})`;
      })
      .join('');
    const match = new RegExp(`^${pattern}$`).exec(actual);
    if (match === null) assert.equal(actual, this.#authorised(expected), what);
    for (const [index, label] of labels.entries()) {
      if (label.includes(':')) this.#bind(label, match?.[index + 1] ?? '', what);
    }
  }

  #bind(label: string, text: string, what: string): void {
    const name = label.replace(/^etag:/, 'stamp:');
    const value = text.replaceAll('%3A', ':');
    const known = this.#values.get(name);
    if (known !== undefined) assert.equal(value, known, `{{${label}}} in ${what}`);
    this.#values.set(name, value);
  }

  #authorised(text: string): string {
    return text.replaceAll('{{authority}}', this.#client.authority);
  }

  #fill(text: string): string {
    return this.#authorised(text).replace(/\{\{(stamp|etag):([^}]+)\}\}/g, (whole, kind, label) => {
      const value = this.#values.get(`stamp:${label}`);
      if (value === undefined) return whole;
      return kind === 'etag' ? value.replaceAll(':', '%3A') : value;
    });
  }
}

describe('golden transcripts', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.http'));
  assert.ok(files.length > 0, `no transcripts in ${folder}`);
  for (const file of files) {
    it(file, async () => {
      await using server = await createServer({ inMemory: true });
      const client = WireClient.of(server);
      const transcript = new Transcript(client);
      const sections = sectionsOf(file);
      for (let at = 0; at < sections.length; at += 2) {
        const request = sections[at];
        const response = sections[at + 1];
        assert.ok(request?.kind === 'request' && response?.kind === 'response', file);
        transcript.check(response.text, await transcript.exchange(request.text));
      }
      client.close();
    });
  }
});
