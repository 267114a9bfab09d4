import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BlobWireClient } from '../kit/blob-client.js';
import { WireClient } from '../kit/client.js';
import type { DatedClient } from '../kit/dated-client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import { queueAuthorizationOf } from '../kit/queue-signature.js';
import { readResponse, type WireResponse } from '../kit/response.js';
import { authorizationOf } from '../kit/signature.js';
import {
  createServer,
  manualClock,
  type ManualClock,
  type TabulariumServer,
} from '../../../src/app/index.js';

// Golden transcripts: `test/golden/*.http`, one conversation a file, each with a server of its own.
//
// A file is bytes: lines end in CRLF. Its first line says what it shows and where the protocol
// has it. `=== request` and `=== response` on a line of their own open a section; the bytes of a
// message are what follows, without the last CRLF before the next section or the end of the file.
//
// The status line and the body must be equal byte for byte. Headers must be equal as a set, names
// as spelled; `Content-Length`, `Transfer-Encoding`, `Connection` and `Keep-Alive` may come
// besides.
//
// What differs from run to run is a placeholder. One with a label stands for one value throughout
// the file; the others match anew each time.
//
//     {{authority}}      host and port of the server
//     {{now}}            in a request: the date; {{authorization}}: the signature;
//                        {{length}}: of the body
//     {{guid:label}}     a lower-case GUID. `guid:request` is bound anew in each response, as are
//                        `guid:outer` and `guid:inner`, the boundaries of a batch
//     {{stamp:label}}    a Timestamp;  {{etag:label}} the same digits as an ETag has them
//     {{date}} {{time}}  an HTTP date, the time in an error
//     {{token}} {{number}} {{any}}   a continuation token, digits, anything up to the end of the
//                        line
//     {{lf}}             a line feed without a carriage return
//     {{version:label}}  the etag of a blob or a container, without its quotes
//     {{receipt:label}}  a pop receipt; percent-encoded in a request, where `guid` serves as well
//
// Files named `queue-…` and `blob-…` speak to these, signed with SharedKey. There the clock stands
// at Fri, 01 Mar 2024 12:00:00 GMT, so that times are what they are, and a request line
// `{{wait:SECONDS}}` in front of a request moves it.

const folder = fileURLToPath(new URL('../../../../test/golden/', import.meta.url));

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
  stamp: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{7}Z',
  etag: '\\d{4}-\\d\\d-\\d\\dT\\d\\d%3A\\d\\d%3A\\d\\d\\.\\d{7}Z',
  date: '\\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT',
  time: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{7}Z',
  token: '1!\\d+![A-Za-z0-9*_-]*',
  number: '\\d+',
  any: '[^\\r\\n]+',
  lf: '\\n',
  receipt: '[A-Za-z0-9+/_=-]+',
  version: '0x[0-9A-F]{15}',
};

/** Labels that have another value in each response. */
const perResponse = ['guid:request', 'guid:outer', 'guid:inner', 'guid:any'];

/** One side of a transcript: sends requests to a server. */
interface Speaker {
  readonly authority: string;
  now(): Date;
  wait(seconds: number): void;
  /** For a header that lacks only the signature. */
  authorizationFor(method: string, target: string, headers: Record<string, string>): string;
  exchange(bytes: Buffer, toHead: boolean): Promise<WireResponse>;
}

class Transcript {
  readonly #speaker: Speaker;
  /** Labelled values, stamps with colons. */
  readonly #values = new Map<string, string>();

  constructor(speaker: Speaker) {
    this.#speaker = speaker;
  }

  async exchange(text: string): Promise<WireResponse> {
    const [, seconds, request = ''] = /^(?:\{\{wait:(\d+)\}\}\r\n)?([^]*)$/.exec(text) ?? [];
    if (seconds !== undefined) this.#speaker.wait(Number(seconds));
    const [head = '', ...rest] = request.split('\r\n\r\n');
    const body = this.#fill(rest.join('\r\n\r\n'));
    const filled = this.#fill(head)
      .replaceAll('{{now}}', this.#speaker.now().toUTCString())
      .replaceAll('{{length}}', String(Buffer.byteLength(body)));
    const signed = filled.replaceAll('{{authorization}}', this.#authorizationFor(filled));
    assert.doesNotMatch(signed + body, /\{\{/, 'a placeholder of the request has no value');
    assert.ok(signed.includes(this.#speaker.authority));
    const bytes = Buffer.from(`${signed}\r\n\r\n${body}`);
    return this.#speaker.exchange(bytes, signed.startsWith('HEAD '));
  }

  #authorizationFor(head: string): string {
    const [requestLine = '', ...fields] = head.split('\r\n');
    const [method = '', target = ''] = requestLine.split(' ');
    const headers = fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon), field.slice(colon + 1).trim()];
    });
    return this.#speaker.authorizationFor(method, target, Object.fromEntries(headers));
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
    return text.replaceAll('{{authority}}', this.#speaker.authority);
  }

  #fill(text: string): string {
    const pattern = /\{\{(stamp|etag|guid|receipt|version):([^}]+)\}\}/g;
    return this.#authorised(text).replace(pattern, (whole, kind, label) => {
      const value = this.#values.get(`${kind === 'etag' ? 'stamp' : kind}:${label}`);
      if (value === undefined) return whole;
      if (kind === 'receipt') return encodeURIComponent(value);
      return kind === 'etag' ? value.replaceAll(':', '%3A') : value;
    });
  }
}

function tableSpeaker(server: TabulariumServer): Speaker & Disposable {
  const client = WireClient.of(server);
  const { account, key, authority } = client;
  return {
    authority,
    now: () => new Date(),
    wait: () => assert.fail('transcripts of tables cannot wait'),
    authorizationFor(method, target, headers) {
      const date = headers['x-ms-date'] ?? '';
      return authorizationOf({ scheme: 'SharedKeyLite', account, key, method, target, date });
    },
    exchange: (bytes) => client.sendRaw(bytes),
    [Symbol.dispose]: () => client.close(),
  };
}

const epochMicros = Date.UTC(2024, 2, 1, 12) * 1000;

/** For queues or blobs. */
function datedSpeaker(client: DatedClient, clock: ManualClock): Speaker & Disposable {
  const { account, key, authority } = client;
  return {
    authority,
    now: () => new Date(clock.nowMicros() / 1000),
    wait: (seconds) => clock.advanceMicros(seconds * 1_000_000),
    authorizationFor(method, target, headers) {
      return queueAuthorizationOf({ scheme: 'SharedKey', account, key, method, target, headers });
    },
    exchange: (bytes, toHead) => client.sendRaw(bytes, toHead),
    [Symbol.dispose]: () => client.close(),
  };
}

function speakerOf(
  service: string | undefined,
  server: TabulariumServer,
  clock: ManualClock,
): Speaker & Disposable {
  if (service === undefined) return tableSpeaker(server);
  const client = service === 'queue' ? QueueWireClient.of(server) : BlobWireClient.of(server);
  return datedSpeaker(client, clock);
}

describe('golden transcripts', () => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.http'));
  assert.ok(files.length > 0, `no transcripts in ${folder}`);
  for (const file of files) {
    it(file, async () => {
      const clock = manualClock(epochMicros);
      const [, service] = /^(queue|blob)-/.exec(file) ?? [];
      const options = service === undefined ? {} : { clock };
      await using server = await createServer({ inMemory: true, ...options });
      using speaker = speakerOf(service, server, clock);
      const transcript = new Transcript(speaker);
      const sections = sectionsOf(file);
      for (let at = 0; at < sections.length; at += 2) {
        const request = sections[at];
        const response = sections[at + 1];
        assert.ok(request?.kind === 'request' && response?.kind === 'response', file);
        transcript.check(response.text, await transcript.exchange(request.text));
      }
    });
  }
});
