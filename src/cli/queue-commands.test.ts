import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { QueueServiceClient, type QueueClient } from '@azure/storage-queue';
import { deferred } from '../base/async/deferred.js';
import {
  CliProcess,
  runCli,
  type CliOptions,
  type CliResult,
} from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import { losing, startProxy, type ForwardingProxy } from '../../test/support/forwarding-proxy.js';
import { startServer, type StartedServer } from '../../test/support/start-server.js';
import { costly } from '../../test/support/run-length.js';

let started: StartedServer;
let work: QueueClient;

/** One of the commands on the queue `work`. */
function cli(
  command: string,
  args: readonly string[] = [],
  options: CliOptions = {},
): Promise<CliResult> {
  const connection = ['-c', started.server.connectionString()];
  return runCommand(['queue', command, '-q', 'work', ...args, ...connection], options);
}

function connectionThrough({ origin }: ForwardingProxy): string {
  const connection = started.server.connectionString();
  return connection.replace(/QueueEndpoint=http:\/\/[^/]+/, `QueueEndpoint=${origin}`);
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

interface PrintedMessage {
  readonly id: string;
  readonly text: string;
  readonly dequeueCount: number;
  readonly popReceipt?: string;
}

function printedMessages(text: string): PrintedMessage[] {
  return lines(text).map((line): PrintedMessage => JSON.parse(line));
}

function texts(text: string): string[] {
  return printedMessages(text).map((message) => message.text);
}

async function waiting(): Promise<number | undefined> {
  return (await work.getProperties()).approximateMessagesCount;
}

before(async () => {
  started = await startServer();
  const service = QueueServiceClient.fromConnectionString(started.server.connectionString());
  work = service.getQueueClient('work');
});

after(() => started[Symbol.asyncDispose]());

beforeEach(async () => {
  await work.create();
});

afterEach(async () => {
  await work.delete();
});

void describe('tabularium queue put', () => {
  void it('adds the text as it is and prints the id', costly(), async () => {
    const text = 'a <b> & "c" ünï\n';
    const { code, stdout, stderr } = await cli('put', [text]);
    assert.equal(code, 0, stderr);
    const { receivedMessageItems } = await work.receiveMessages();
    const [message] = receivedMessageItems;
    assert.equal(message?.messageText, text);
    assert.equal(stdout, `${message?.messageId}\n`);
    assert.match(stderr, /Put 1 message into work\./);
  });

  void it('takes the text from a file or standard input, bytes unchanged', costly(), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-put-'));
    const file = join(directory, 'message.txt');
    await writeFile(file, 'from a file\n');
    assert.equal((await cli('put', ['--file', file])).code, 0);
    await rm(directory, { recursive: true });
    const put = ['queue', 'put', '-q', 'work', '-c', started.server.connectionString()];
    assert.equal((await runCli(put, { input: 'from input\n' })).code, 0);
    assert.equal((await cli('put', ['-f', '-'], { input: 'dash' })).code, 0);
    const { peekedMessageItems } = await work.peekMessages({ numberOfMessages: 9 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText }) => messageText),
      ['from a file\n', 'from input\n', 'dash'],
    );
    const missing = await cli('put', ['--file', file]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /There is no file .*message\.txt/);
  });

  void it('makes one message a line, in order', async () => {
    const { stdout, stderr } = await cli('put', ['--lines'], { input: 'one\r\n\n  two\n\nthree' });
    assert.match(stderr, /Put 3 messages into work\./);
    const { peekedMessageItems } = await work.peekMessages({ numberOfMessages: 9 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText }) => messageText),
      ['one', '  two', 'three'],
    );
    assert.deepEqual(
      lines(stdout),
      peekedMessageItems.map(({ messageId }) => messageId),
    );
  });

  void it('tells how many lines were put before one was refused', async () => {
    const { code, stderr } = await cli('put', ['--lines'], { input: 'one\n\u0001\nthree\n' });
    // Not 2, because part of the work was done.
    assert.equal(code, 1);
    assert.match(
      stderr,
      /Put 1 message into work, up to line 1\.\nerror: .*control characters.*--base64/,
    );
    assert.equal(await waiting(), 1);
  });

  void it('puts base64 where a client expects it, of any bytes', async () => {
    await cli('put', ['--base64', 'ünï\u0001']);
    const { peekedMessageItems } = await work.peekMessages();
    assert.equal(peekedMessageItems[0]?.messageText, Buffer.from('ünï\u0001').toString('base64'));
  });

  void it('hides a message at first and lets it live as long as it is told', async () => {
    await cli('put', ['--visibility', '5m', '--ttl', '2h', 'later']);
    await cli('put', ['--ttl', 'never', 'for ever']);
    assert.equal(await waiting(), 2);
    const { receivedMessageItems } = await work.receiveMessages({ numberOfMessages: 9 });
    assert.deepEqual(
      receivedMessageItems.map(({ messageText, expiresOn }) => [
        messageText,
        expiresOn.getUTCFullYear(),
      ]),
      [['for ever', 9999]],
    );
  });

  void it('creates the queue only when it is told to', async () => {
    const connection = ['-c', started.server.connectionString()];
    const args = ['queue', 'put', '-q', 'fresh', 'text', ...connection];
    const refused = await runCommand(args);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^error: QueueNotFound \(404\): .* Make it with --create\.$/m);
    for (let round = 0; round < 2; round++) {
      assert.equal((await runCommand([...args, '--create'])).code, 0);
    }
    const service = QueueServiceClient.fromConnectionString(started.server.connectionString());
    const fresh = service.getQueueClient('fresh');
    assert.equal((await fresh.getProperties()).approximateMessagesCount, 2);
    await fresh.delete();
  });

  void it('puts a message once when the answer is lost, and says that it may be there', async () => {
    const isPut = ({ method }: { readonly method?: string | undefined }) => method === 'POST';
    const put = async (lost: readonly number[], args: readonly string[], input?: string) => {
      await using proxy = await startProxy(started.server.queueEndpoint, losing(isPut, lost));
      const all = ['queue', 'put', '-q', 'work', ...args, '-c', connectionThrough(proxy)];
      return await runCommand(all, input === undefined ? {} : { input });
    };
    const single = await put([1], ['once']);
    assert.deepEqual([single.code, single.stdout], [1, '']);
    assert.match(single.stderr, /The message may have been added.*"tabularium queue peek -q work"/);
    assert.equal(await waiting(), 1);
    const several = await put([2], ['--lines'], 'one\n\ntwo\nthree\n');
    assert.equal(several.code, 1);
    assert.match(
      several.stderr,
      /Put 1 message into work, up to line 1\.\nerror: .*Line 3 may have been added/,
    );
    assert.equal(await waiting(), 3);
    const hidden = await put([1], ['--visibility', '5m', 'later']);
    assert.match(hidden.stderr, /queue peek -q work" before you do, after the 300 seconds/);
  });

  void it('tells what it has put when it is interrupted', costly(), async () => {
    const held = deferred();
    let puts = 0;
    const hold = ({ method }: { readonly method?: string | undefined }) => {
      if (method !== 'POST' || ++puts === 1) return 'pass';
      held.resolve();
      return 'done';
    };
    await using proxy = await startProxy(started.server.queueEndpoint, hold);
    const args = ['queue', 'put', '-q', 'work', '--lines', '-c', connectionThrough(proxy)];
    const command = new CliProcess(args, { input: 'one\n\ntwo\nthree\n' });
    await held.promise;
    command.child.kill('SIGINT');
    const { signal, stderr } = await command.result;
    assert.equal(signal, 'SIGINT');
    assert.match(stderr, /^Put 1 message into work, up to line 1\.\nLine 3 may have been added/m);
  });

  void it('does not call it uncertain when a message was not sent, or refused', async () => {
    const gone = await startProxy(started.server.queueEndpoint, () => 'pass');
    await gone[Symbol.asyncDispose]();
    const args = ['queue', 'put', '-q', 'work', 'text', '-c', connectionThrough(gone)];
    const unsent = await runCommand(args);
    assert.match(unsent.stderr, /Nothing listens at/);
    const busy = (_: unknown, response: ServerResponse): 'done' => {
      response.writeHead(503).end();
      return 'done';
    };
    await using proxy = await startProxy(started.server.queueEndpoint, busy);
    const refused = await runCommand([...args.slice(0, -1), connectionThrough(proxy)]);
    assert.match(refused.stderr, /\(503\)/);
    for (const { code, stderr } of [unsent, refused]) {
      assert.equal(code, 1);
      assert.doesNotMatch(stderr, /may have been added/);
    }
  });

  void it('says why it is not let in', async () => {
    const text = started.server.connectionString();
    const endpoint = /QueueEndpoint=[^;]+/.exec(text)?.[0] ?? '';
    const signature = `${endpoint};SharedAccessSignature=sv=2021-12-02&sig=x`;
    const refused = await runCommand(['queue', 'list', '-c', signature]);
    assert.match(refused.stderr, /AuthenticationFailed \(403\).*The signature lacks se/);
    const wrong = text.replace(/AccountKey=[^;]+/, 'AccountKey=aGVsbG8=');
    const { stderr } = await runCommand(['queue', 'list', '-c', wrong]);
    assert.match(stderr, /AuthenticationFailed \(403\)/);
    assert.doesNotMatch(stderr, /string-to-sign/);
  });

  void it('explains what the service refuses, and where it is wrong', async () => {
    const { code, stderr } = await cli('put', ['--visibility', '5m', '--ttl', '2m', 'x']);
    assert.equal(code, 1);
    assert.match(stderr, /InvalidQueryParameterValue \(400\).*visibilitytimeout.*300/);
    assert.equal(await waiting(), 0);
  });

  void it('refuses a command line that it does not understand', async () => {
    const cases: [string[], RegExp][] = [
      [['--visibility', '8d', 'x'], /0 to 604800 seconds/],
      [['--ttl', '0', 'x'], /written like/],
      [['--ttl', '5 minutes', 'x'], /written like/],
      [['--file', 'f', 'x'], /not both/],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await cli('put', args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, message);
    }
    const name = await runCommand(['queue', 'put', '-q', 'No', 'x']);
    assert.equal(name.code, 2);
    assert.match(name.stderr, /A queue name has 3 to 63/);
  });
});

void describe('tabularium queue get', () => {
  void it('takes messages, which nobody else gets meanwhile, and leaves them', async () => {
    await work.sendMessage('one');
    await work.sendMessage('two');
    const { stdout } = await cli('get', ['-o', 'jsonl', '--visibility', '1h']);
    const [message] = printedMessages(stdout);
    assert.equal(message?.text, 'one');
    assert.equal(message.dequeueCount, 1);
    await work.updateMessage(message.id, message.popReceipt ?? '');
    assert.equal(await waiting(), 2);
    const all = await cli('get', ['-n', '9', '-o', 'jsonl']);
    assert.deepEqual(texts(all.stdout).toSorted(), ['one', 'two']);
    assert.equal((await cli('get')).stdout, 'No messages.\n');
    assert.equal((await cli('get', ['-o', 'json'])).stdout, '[]\n');
  });

  void it('takes more than one answer holds, in order, and deletes what it printed', async () => {
    const sent = Array.from({ length: 70 }, (_, at) => `message ${at}`);
    await cli('put', ['--lines'], { input: sent.join('\n') });
    const { stdout } = await cli('get', ['--count', '65', '--delete', '-o', 'jsonl']);
    assert.deepEqual(texts(stdout), sent.slice(0, 65));
    assert.equal(await waiting(), 5);
    const array = await cli('get', ['--count', '100', '--delete', '-o', 'json']);
    const parsed: PrintedMessage[] = JSON.parse(array.stdout);
    assert.deepEqual(
      parsed.map(({ text }) => text),
      sent.slice(65),
    );
    assert.equal(await waiting(), 0);
  });

  void it('knows what it has deleted itself when the answer is lost', async () => {
    await work.sendMessage('lost');
    const lost = losing(({ method }) => method === 'DELETE', [1]);
    await using proxy = await startProxy(started.server.queueEndpoint, lost);
    const connection = connectionThrough(proxy);
    const { code, stderr } = await runCommand([
      'queue',
      'get',
      '-q',
      'work',
      '--delete',
      '-c',
      connection,
    ]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(await waiting(), 0);
  });

  void it('says so when another consumer was faster than its deletion', async () => {
    await work.sendMessage('slow');
    const target = started.server.queueEndpoint;
    await using proxy = await startProxy(target, async ({ method }): Promise<'pass'> => {
      // Stands for the message becoming visible again and being taken before the deletion arrives.
      if (method === 'DELETE') await work.clearMessages();
      return 'pass';
    });
    const connection = connectionThrough(proxy);
    const args = ['queue', 'get', '-q', 'work', '--delete', '-o', 'jsonl', '-c', connection];
    const { code, stdout, stderr } = await runCommand(args);
    assert.equal(code, 1);
    assert.deepEqual(texts(stdout), ['slow']);
    assert.match(stderr, /Not deleted: .*another consumer/);
  });
});

void describe('tabularium queue peek', () => {
  void it('prints what would come next and changes nothing', async () => {
    for (const text of ['one', 'two\u009b31m', 'three']) await work.sendMessage(text);
    const { stdout } = await cli('peek', ['-n', '2']);
    const [header = '', rule = '', first = '', second = '', ...rest] = lines(stdout);
    assert.match(header, /^id +inserted +dequeueCount +text$/);
    assert.match(rule, /^-+( {2}-+)+$/);
    assert.match(first, / 0 {2}one$/);
    assert.match(second, /two\\x9b31m$/);
    assert.deepEqual(rest, []);
    assert.deepEqual(texts((await cli('peek', ['-o', 'jsonl'])).stdout).length, 3);
    assert.equal((await cli('peek', ['-n', '33'])).code, 2);
  });

  void it('decodes base64 and shows other texts as they are', async () => {
    await work.sendMessage(Buffer.from('decoded ü').toString('base64'));
    await work.sendMessage('not base64');
    await work.sendMessage('/w==');
    const { stdout, stderr } = await cli('peek', ['--base64', '-o', 'jsonl']);
    assert.deepEqual(texts(stdout), ['decoded ü', 'not base64', '/w==']);
    assert.equal(lines(stderr).length, 2);
    assert.match(stderr, /shown as it is/);
  });
});

void describe('tabularium queue clear', () => {
  void it('deletes every message, invisible ones included, and says how many', async () => {
    for (const text of ['one', 'two', 'three']) await work.sendMessage(text);
    await work.receiveMessages();
    const { code, stderr } = await cli('clear', ['--yes']);
    assert.equal(code, 0);
    assert.match(stderr, /Deleted 3 messages of work\./);
    assert.equal(await waiting(), 0);
  });

  void it('deletes nothing when nobody can be asked and nobody said yes', async () => {
    await work.sendMessage('kept');
    const { code, stderr } = await cli('clear');
    assert.equal(code, 2);
    assert.match(stderr, /--yes/);
    assert.equal(await waiting(), 1);
  });
});

void describe('tabularium queue list', () => {
  const connection = (): string[] => ['-c', started.server.connectionString()];

  void it('prints queues in order, and their metadata when they are asked for', async () => {
    await work.setMetadata({ colour: 'blue', Size: '4' });
    const other = QueueServiceClient.fromConnectionString(
      started.server.connectionString(),
    ).getQueueClient('a-first');
    await other.create();
    const plain = await runCommand(['queue', 'list', '-o', 'jsonl', ...connection()]);
    assert.deepEqual(lines(plain.stdout), ['{"name":"a-first"}', '{"name":"work"}']);
    const whole = await runCommand([
      'queue',
      'list',
      '-m',
      '-p',
      'wo',
      '-o',
      'json',
      ...connection(),
    ]);
    assert.deepEqual(JSON.parse(whole.stdout), [
      { name: 'work', metadata: { colour: 'blue', Size: '4' } },
    ]);
    const table = await runCommand(['queue', 'list', '--metadata', ...connection()]);
    assert.match(table.stdout, /^name +metadata\n-+ +-+\na-first\nwork +colour=blue, Size=4\n$/);
    await other.delete();
  });

  void it('follows pages to the end', costly(), async () => {
    const service = QueueServiceClient.fromConnectionString(started.server.connectionString());
    const names = Array.from({ length: 1100 }, (_, at) => `page-${String(at).padStart(4, '0')}`);
    for (let start = 0; start < names.length; start += 100) {
      const some = names.slice(start, start + 100);
      await Promise.all(some.map((name) => service.createQueue(name)));
    }
    // Through a pipe.
    const { stdout } = await runCli([
      'queue',
      'list',
      '-p',
      'page-',
      '-o',
      'jsonl',
      ...connection(),
    ]);
    assert.deepEqual(
      lines(stdout).map((line) => (JSON.parse(line) as { readonly name: string }).name),
      names,
    );
  });
});
