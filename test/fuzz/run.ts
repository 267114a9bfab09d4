import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ServerProcess } from '../support/crash-server.js';
import { testIssuer } from '../support/oauth-issuer.js';
import { WireClient } from '../wire/kit/client.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';
import { developmentAccount, developmentKey } from '../wire/kit/signature.js';
import { addGuarded, otherAccount, secretHere, textOfGuarded, type Guarded } from './guarded.js';
import { fuzzQueues } from './queue-requests.js';
import { fuzzTables } from './requests.js';
import type { Run } from './run-settings.js';
import { runStream, Tally } from './stream.js';
import { bearerTokens, contributorToken, type Tokens } from './tokens.js';
import { delegationKeyFor } from './user-delegation.js';

const streams = 4;
const growthMiBMax = 100;
const otherKey = Buffer.alloc(64, 7).toString('base64');
/** Gives the server time to close the sockets of disconnected clients. */
const settleTriesMax = 100;

/** Sends this many changed requests to a new server and checks that it stays correct. */
export async function fuzz(t: TestContext, run: Run): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-fuzz-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const issuer = await testIssuer();
  const jwks = join(directory, 'jwks.json');
  await writeFile(jwks, JSON.stringify(issuer.jwks));
  const flags = ['--durability', 'relaxed', '--oauth', issuer.issuer, '--oauth-jwks', jwks];
  flags.push('--oauth-allow-http', ...run.flags);
  flags.push('--account', `${developmentAccount}:${developmentKey}`);
  flags.push('--account', `${otherAccount}:${otherKey}`);
  const server = await ServerProcess.start(join(directory, 'data'), { flags });
  try {
    const guarded = clientsOf(server);
    const { tables, queues } = guarded;
    await addGuarded(guarded, { tables: fuzzTables, queues: fuzzQueues });
    for (const name of fuzzQueues) await queues.expect(201, { method: 'PUT', path: `/${name}` });
    for (const name of fuzzTables) {
      await tables.send({ method: 'POST', path: '/Tables', body: `{"TableName":"${name}"}` });
    }
    const contributor = await contributorToken(issuer);
    const tokens = {
      good: [{ text: contributor, reach: 'all' as const }],
      bearers: await bearerTokens(issuer),
      delegationKey: await delegationKeyFor(queues, contributor),
    };
    const tally = await mutateAndCheck(t, { server, guarded, tokens, run });
    const { otherTables, otherQueues } = guarded;
    for (const client of [tables, queues, otherTables, otherQueues]) client.close();
    const { code, output } = await server.end('SIGTERM');
    assert.equal(code, 0, output);
    const logged = output.split('\n').filter((line) => line.includes('"level":50'));
    assert.deepEqual(logged, [], 'the server logged failures');
    for (const line of tally.lines()) t.diagnostic(line);
    tally.assertMeaningful();
  } finally {
    await server.end('SIGKILL');
  }
}

function clientsOf(server: ServerProcess): Guarded {
  return {
    tables: server.client(),
    queues: server.queueClient(),
    otherTables: new WireClient(server.port, otherAccount, otherKey),
    otherQueues: new QueueWireClient(server.queuePort, { account: otherAccount, key: otherKey }),
  };
}

interface FuzzPart {
  readonly server: ServerProcess;
  readonly guarded: Guarded;
  readonly tokens: Tokens;
  readonly run: Run;
}

/** Runs in two parts: the second must not use much more memory than the first has left. */
async function mutateAndCheck(t: TestContext, fuzz: FuzzPart): Promise<Tally> {
  const { server, guarded, tokens, run } = fuzz;
  const tally = new Tally();
  const intact = await textOfGuarded(guarded);
  assert.ok(intact.includes(secretHere), 'its owner sees what is guarded');
  const part = async (first: number, count: number) => {
    const each = Math.ceil(count / streams);
    const all = Array.from({ length: streams }, (_, index) =>
      runStream({ server, tokens, run, tally, stream: first + index, count: each }),
    );
    await Promise.all(all);
    const health = await guarded.tables.send({ target: '/healthz', auth: 'none' });
    assert.equal(health.status, 200);
    assert.equal(await textOfGuarded(guarded), intact);
  };
  const warm = Math.ceil(run.requests / 4);
  const descriptors = await descriptorsOf(server.pid);
  await part(0, warm);
  const before = await privateMiB(server.pid);
  await part(streams, run.requests - warm);
  const after = await privateMiB(server.pid);
  t.diagnostic(`private memory ${before?.toFixed(0)} MiB, then ${after?.toFixed(0)} MiB`);
  if (before !== undefined && after !== undefined) {
    assert.ok(after - before < growthMiBMax, `grew from ${before} to ${after} MiB`);
  }
  await assertDescriptorsReturn(server.pid, descriptors);
  return tally;
}

/** Private memory of a process, if the system shows it. */
async function privateMiB(pid: number): Promise<number | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s*(\d+) kB$/m.exec(text)?.[1]) / 1024;
  } catch {
    return undefined;
  }
}

/** The number of open files and connections of a process, if the system shows it. */
async function descriptorsOf(pid: number): Promise<number | undefined> {
  try {
    return (await readdir(`/proc/${pid}/fd`)).length;
  } catch {
    return undefined;
  }
}

async function assertDescriptorsReturn(pid: number, before: number | undefined): Promise<void> {
  if (before === undefined) return;
  let count = await descriptorsOf(pid);
  for (let tries = 0; count !== undefined && count > before; tries += 1) {
    assert.ok(tries < settleTriesMax, `${before} descriptors were open, then ${count}`);
    await pause(100);
    count = await descriptorsOf(pid);
  }
}
