import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import { costly } from '../../test/support/run-length.js';

// Text from a server or the command line is printed so that it can neither control the terminal nor
// change the direction of a line.

/** Sets a title and a colour (by C1), contains bidirectional marks, line ends and DEL. */
const evil = '\x1b]0;owned\x07\x9b31m\u202eright\u2066left\u200f\u061c\u2028\u2029\x85\x7f';
/** XML cannot contain C0 controls. */
const evilXml = Array.from(evil, (each) => (each < ' ' ? '' : each)).join('');

/**
 * Ranges of characters that control a terminal or the direction of text. Line feeds are allowed:
 * they end the printed lines.
 */
const commanding: readonly (readonly [from: string, to: string])[] = [
  ['\0', '\t'],
  ['\v', '\x1f'],
  ['\x7f', '\x9f'],
  ['\u061c', '\u061c'],
  ['\u200e', '\u200f'],
  ['\u2028', '\u202e'],
  ['\u2066', '\u2069'],
];

let mode: 'json-error' | 'xml-error' | 'plain-error' | 'redirect' | 'success' = 'success';
let server: Server;
let connection: readonly string[];
let folder: string;

function bodyOf({ url = '' }: IncomingMessage): string {
  const error = { code: evil, message: { lang: 'en', value: evil } };
  const name = evilXml;
  switch (mode) {
    case 'json-error':
      return JSON.stringify({ 'odata.error': error });
    case 'xml-error':
      return `<Error><Code>${name}</Code><Message>${name}</Message><Why>${name}</Why></Error>`;
    case 'plain-error':
      return evil;
    case 'redirect':
      return '';
    case 'success':
      if (url.includes('comp=list'))
        return `<EnumerationResults><Queues><Queue><Name>${name}</Name></Queue></Queues></EnumerationResults>`;
      if (url.includes('/messages')) return messages();
      return JSON.stringify({
        value: [{ PartitionKey: evil, RowKey: '1', [evil]: evil, n: evil }],
      });
    default:
      return assert.fail();
  }
}

function messages(): string {
  const fields = ['MessageId', 'PopReceipt', 'MessageText'].map(
    (name) => `<${name}>${evilXml}</${name}>`,
  );
  const times = ['InsertionTime', 'ExpirationTime', 'TimeNextVisible'];
  const all = [...fields, ...times.map((name) => `<${name}>${evilXml}</${name}>`)].join('');
  const message = `<QueueMessage>${all}<DequeueCount>1</DequeueCount></QueueMessage>`;
  return `<QueueMessagesList>${message}</QueueMessagesList>`;
}

function statusOf(failure: Exclude<typeof mode, 'success'>): number {
  return failure === 'redirect' ? 302 : 400;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-hostile-'));
  await writeFile(join(folder, 'rows.jsonl'), '{"PartitionKey":"a","RowKey":"1"}\n');
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      const created = request.method === 'POST' && request.url?.includes('/messages') === true;
      response.statusCode = mode === 'success' ? (created ? 201 : 200) : statusOf(mode);
      if (mode === 'redirect') response.setHeader('Location', 'http://elsewhere.example/\u009b');
      response.setHeader('x-tabularium-plan', 'class=\x9b31m;intervals=\x9b;scanned=1;returned=1');
      response.setHeader('x-ms-approximate-messages-count', '1');
      response.end(bodyOf(request));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
  const text = `AccountName=a;AccountKey=YQ==;TableEndpoint=${endpoint};QueueEndpoint=${endpoint}`;
  connection = ['-c', text];
});
after(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

const reading = (format: string): readonly (readonly string[])[] => [
  ['table', 'query', '-t', 'people', '-o', format],
  ['queue', 'peek', '-q', 'work', '-o', format],
  ['queue', 'get', '-q', 'work', '-o', format, '--base64'],
  ['queue', 'list', '-o', format],
];
const writing: readonly (readonly string[])[] = [
  ['table', 'insert', '-t', 'people', '-j', '{"PartitionKey":"a","RowKey":"1"}'],
  ['table', 'import', 'rows.jsonl', '-t', 'people', '--no-create'],
  ['queue', 'put', '-q', 'work', 'text'],
  ['queue', 'clear', '-q', 'work', '--yes'],
];

async function runsHarmlessly(command: readonly string[]): Promise<void> {
  const { stdout, stderr } = await runCommand([...command, ...connection], { cwd: folder });
  isHarmless(stdout + stderr, command.join(' '));
  assert.notEqual(stdout + stderr, '', command.join(' '));
}

function isHarmless(text: string, what: string): void {
  const found = Array.from(text).find((each) =>
    commanding.some(([from, to]) => each >= from && each <= to),
  );
  assert.equal(found, undefined, `${what} prints ${JSON.stringify(text)}`);
}

describe('an endpoint that redirects', () => {
  it('has done nothing, and every command says so', costly(), async () => {
    mode = 'redirect';
    for (const command of [...reading('table'), ...writing]) {
      const { code, stderr } = await runCommand([...command, ...connection], { cwd: folder });
      assert.equal(code, 1, command.join(' '));
      assert.match(stderr, /HTTP 302.*to http:\/\/elsewhere\.example/, command.join(' '));
      isHarmless(stderr, command.join(' '));
    }
  });
});

describe('an endpoint that answers a query with something else', () => {
  it('is reported in one line', async () => {
    mode = 'success';
    const text = connection
      .join()
      .replace('-c,', '')
      .replace(/(TableEndpoint=[^;]*)/, '$1/messages');
    const { code, stderr } = await runCli(['table', 'query', '-t', 'people', '-c', text]);
    assert.equal(code, 1);
    assert.match(stderr, /^error: The answer cannot be read as rows: [^\n]*\n$/);
  });
});

describe('an endpoint that answers with control characters', () => {
  for (const each of ['json-error', 'xml-error', 'plain-error'] as const) {
    it(`sends no control characters to the terminal by any command: ${each}`, async () => {
      mode = each;
      await Promise.all([...reading('table'), ...writing].map(runsHarmlessly));
    });
  }

  it('sends no control characters to the terminal in any format', async () => {
    mode = 'success';
    await Promise.all(['table', 'json', 'jsonl'].flatMap(reading).map(runsHarmlessly));
  });

  it('is shown in JSON that means the same', async () => {
    mode = 'success';
    const args = ['table', 'query', '-t', 'people', '-o', 'jsonl', '--no-plan', ...connection];
    const { stdout } = await runCommand(args);
    const row: Record<string, unknown> = JSON.parse(stdout);
    assert.deepEqual(row, { PartitionKey: evil, RowKey: '1', [evil]: evil, n: evil });
  });
});

describe('a command line with control characters', () => {
  it('is refused without repeating them as they are', costly(), async () => {
    const wrong: readonly (readonly string[])[] = [
      [evil],
      ['table', evil],
      ['table', 'query', `--${evil}`],
      ['table', 'query', '-t', 'people', '-o', evil],
      ['table', 'query', '-t', 'people', '-c', evil],
      ['table', 'import', `${evil}.csv`, '-t', 'people'],
      ['table', 'import', 'rows.jsonl', '-t', 'people', '--types', `a=${evil}`],
      ['table', 'insert', '-t', 'people', `{"${evil}`],
      ['queue', 'get', '-q', 'work', '--count', evil],
      ['sas', 'table', '-t', 'people', '--expiry', evil],
      ['dev-token', '--lifetime', evil],
      ['start', '--table-port', evil],
      ['start', '--config', evil],
      ['start', '--account', evil],
    ];
    const refusals = wrong.map(async (args) => {
      const run = args[0] === 'start' ? runCli : runCommand;
      const { code, stdout, stderr } = await run(args, { cwd: folder });
      assert.notEqual(code, 0, args.join(' '));
      isHarmless(stdout + stderr, JSON.stringify(args));
    });
    await Promise.all(refusals);
  });
});

describe('the commands', () => {
  it('tell people things by one function, which escapes', () => {
    const root = fileURLToPath(new URL('../../../src/cli/', import.meta.url));
    const files = readdirSync(root, { recursive: true }).map(String);
    const writing = files
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .filter((file) => readFileSync(join(root, file), 'utf8').includes('process.stderr.write'));
    assert.deepEqual(writing, ['terminal/notice.ts']);
  });
});
