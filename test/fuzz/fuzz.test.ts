import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { ServerProcess } from '../support/crash-server.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import type { WireClient } from '../wire/kit/client.js';
import { WireConnection } from '../wire/kit/connection.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';
import { faultOf } from './answers.js';
import { fuzzRequest } from './mutations.js';
import { fuzzQueues } from './queue-requests.js';
import { fuzzTables, type FuzzRequest } from './requests.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_FUZZ_SEED');
const requests = numberSetting('TABULARIUM_FUZZ_REQUESTS', 20_000);
const streams = 4;
const sentinels = 50;
const growthMiBMax = 100;

type Clients = Readonly<Record<FuzzRequest['service'], WireClient | QueueWireClient>>;

/** The bytes of a request: signed as it is, so that it gets past the front door. */
function bytesOf(random: SimRandom, clients: Clients, request: FuzzRequest): Buffer {
  const { method, path, query, headers, body } = request;
  const options = query.map(([name, value]) => `${name}=${encoded(random, value)}`).join('&');
  const target = `/devstoreaccount1${onRequestLine(path)}${options === '' ? '' : `?${options}`}`;
  const isChunked = body !== undefined && body !== '' && random.chance(0.1);
  const framing = isChunked ? { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' } : {};
  return clients[request.service].bytes({
    method,
    target,
    headers: { ...headers, ...framing },
    ...(random.chance(0.98) ? {} : { auth: 'none' }),
    ...(body === undefined ? {} : { body: isChunked ? chunked(random, body) : body }),
  });
}

/** White space and controls would end the request line: malformed HTTP is tested elsewhere. */
function onRequestLine(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]/gu, encodeURIComponent)
    .replaceAll('?', '%3F')
    .slice(0, 8000);
}

function encoded(random: SimRandom, text: string): string {
  // Splicing may have cut a surrogate pair, which no URL can say.
  const value = Buffer.from(text).toString();
  return random.chance(0.9) ? encodeURIComponent(value) : onRequestLine(value);
}

function chunked(random: SimRandom, text: string): Buffer {
  const bytes = Buffer.from(text);
  const cut = random.between(1, bytes.length);
  const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length > 0);
  return Buffer.concat([
    ...pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
}

/** How often each status was answered. */
const statuses = new Map<number, number>();

async function runStream(server: ServerProcess, stream: number, count: number): Promise<void> {
  const random = new SimRandom(seed + stream);
  const clients = { table: server.client(), queue: new QueueWireClient(server.queuePort) };
  const connections = {
    table: new WireConnection(server.port),
    queue: new WireConnection(server.queuePort),
  };
  for (let index = 1; index <= count; index += 1) {
    const request = fuzzRequest(random);
    const bytes = bytesOf(random, clients, request);
    let fault: string | undefined;
    try {
      const isHead = request.method === 'HEAD';
      const response = await connections[request.service].exchange(bytes, isHead);
      fault = faultOf(request, response);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    } catch (error) {
      fault = String(error);
    }
    if (fault !== undefined) {
      const shown = bytes.toString('latin1').slice(0, 3000);
      throw new Error(
        `Repeat with TABULARIUM_FUZZ_SEED=${seed} TABULARIUM_FUZZ_REQUESTS=${requests}\n` +
          `request ${index} of stream ${stream}: ${fault}\n${shown}`,
      );
    }
  }
  connections.table.close();
  connections.queue.close();
}

/** Puts what no request of the fuzzer means; returns all that there is to see of it. */
async function addSentinels(client: WireClient, queues: QueueWireClient): Promise<string> {
  await client.send({ method: 'POST', path: '/Tables', body: '{"TableName":"sentinels"}' });
  for (let index = 0; index < sentinels; index += 1) {
    const entity = { PartitionKey: `p${index % 5}`, RowKey: `r${index}`, index, text: 'ünïcödé' };
    await client.put('sentinels', entity);
  }
  await queues.expect(201, {
    method: 'PUT',
    path: '/sentinels',
    headers: { 'x-ms-meta-Guard': 'true' },
  });
  for (let index = 0; index < sentinels; index += 1) {
    await queues.put('sentinels', `ünïcödé ${index}`, { messagettl: -1 });
  }
  return sentinelsOf(client, queues);
}

async function sentinelsOf(client: WireClient, queues: QueueWireClient): Promise<string> {
  const entities = await client.query('sentinels');
  const messages = await queues.expect(200, {
    path: '/sentinels/messages?peekonly=true&numofmessages=32',
  });
  const metadata = await queues.expect(200, { path: '/sentinels?comp=metadata' });
  const count = metadata.header('x-ms-approximate-messages-count');
  return [entities.text, messages.text, metadata.header('x-ms-meta-Guard'), count].join('\n');
}

async function assertIntact(
  client: WireClient,
  queues: QueueWireClient,
  expected: string,
): Promise<void> {
  const health = await client.send({ target: '/healthz', auth: 'none' });
  assert.equal(health.status, 200);
  assert.equal(await sentinelsOf(client, queues), expected);
}

/** A line of the log that tells more than an operation that the server does not have. */
function isFailure(line: string): boolean {
  return line.includes('"level":50') && !line.includes('"status":501');
}

/** Private memory of a process, where the system tells it. */
async function privateMiB(pid: number): Promise<number | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s*(\d+) kB$/m.exec(text)?.[1]) / 1024;
  } catch {
    return undefined;
  }
}

it(`answers ${requests} spoiled requests properly and stays sound (seed ${seed})`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-fuzz-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const server = await ServerProcess.start(directory, { flags: ['--durability', 'relaxed'] });
  try {
    const client = server.client();
    const queues = new QueueWireClient(server.queuePort);
    const intact = await addSentinels(client, queues);
    for (const name of fuzzQueues) await queues.expect(201, { method: 'PUT', path: `/${name}` });
    for (const name of fuzzTables) {
      await client.send({ method: 'POST', path: '/Tables', body: `{"TableName":"${name}"}` });
    }
    const warm = Math.ceil(requests / streams / 4);
    await Promise.all(
      Array.from({ length: streams }, (_, stream) => runStream(server, stream, warm)),
    );
    const memory = await privateMiB(server.pid);
    await assertIntact(client, queues, intact);
    const rest = Math.ceil((requests - warm * streams) / streams);
    await Promise.all(
      Array.from({ length: streams }, (_, stream) => runStream(server, streams + stream, rest)),
    );
    await assertIntact(client, queues, intact);
    const after = await privateMiB(server.pid);
    t.diagnostic(`private memory ${memory?.toFixed(0)} MiB, then ${after?.toFixed(0)} MiB`);
    if (memory !== undefined && after !== undefined) {
      assert.ok(after - memory < growthMiBMax, `grew from ${memory} to ${after} MiB`);
    }
    client.close();
    queues.close();
    const { code, output } = await server.end('SIGTERM');
    assert.equal(code, 0);
    const logged = output.split('\n').filter(isFailure);
    assert.deepEqual(logged, [], 'the server logged failures');
    const shares = [...statuses].sort(([left], [right]) => left - right);
    t.diagnostic(`answers: ${shares.map(([status, count]) => `${status} × ${count}`).join(', ')}`);
    const accepted = shares.reduce((sum, [status, count]) => sum + (status < 300 ? count : 0), 0);
    assert.ok(accepted > requests / 20, 'a good part gets past the checks of form');
  } finally {
    await server.end('SIGKILL');
  }
});
