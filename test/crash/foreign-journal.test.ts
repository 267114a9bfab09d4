import assert from 'node:assert/strict';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { CliProcess } from '../support/cli-process.js';
import { ServerProcess, StartFailure } from '../support/crash-server.js';
import { costly } from '../support/run-length.js';

/** A life of a server on a directory, in which it makes a table. Resolves with all tables. */
async function live(location: string, table: string, end: 'SIGTERM' | 'SIGKILL') {
  const server = await ServerProcess.start(location);
  const client = server.client();
  const body = JSON.stringify({ TableName: table });
  assert.equal((await client.send({ method: 'POST', path: '/Tables', body })).status, 201);
  const { json } = await client.send({ path: '/Tables' });
  client.close();
  await server.end(end);
  return (json['value'] as { TableName: string }[]).map(({ TableName }) => TableName);
}

async function assertRefused(location: string, message: RegExp): Promise<void> {
  await assert.rejects(ServerProcess.start(location), (error: unknown) => {
    assert.ok(error instanceof StartFailure);
    assert.equal(error.exit.code, 1);
    assert.match(error.exit.output, message);
    return true;
  });
  const check = await new CliProcess(['check', '--location', location]).result;
  assert.equal(check.code, 1);
  assert.match(check.stderr, message);
}

it('refuses the journal of another directory, and an older one of its own', costly(), async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-foreign-journal-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [own, other, aside] = ['own', 'other', 'aside'].map((name) => join(folder, name));
  assert.ok(own !== undefined && other !== undefined && aside !== undefined);
  await live(own, 'first', 'SIGTERM');
  // Its numbers go on where those of the first directory end.
  await live(other, 'second', 'SIGTERM');
  await live(other, 'third', 'SIGKILL');
  const journal = join(own, 'journal');
  await cp(join(other, 'journal'), journal, { recursive: true });
  await assertRefused(
    own,
    /The journal file \S+ does not belong to the data file.*Move it away and put back what belongs/,
  );
  await rm(journal, { recursive: true });
  assert.deepEqual(await live(own, 'fourth', 'SIGKILL'), ['first', 'fourth']);
  await cp(journal, aside, { recursive: true });
  assert.deepEqual(await live(own, 'fifth', 'SIGKILL'), ['fifth', 'first', 'fourth']);
  await rename(journal, join(folder, 'current'));
  await rename(aside, journal);
  await assertRefused(own, /The journal \S+ lacks file 1 of generation 3.*backup/);
  await rm(journal, { recursive: true });
  await rename(join(folder, 'current'), journal);
  assert.deepEqual(await live(own, 'sixth', 'SIGTERM'), ['fifth', 'first', 'fourth', 'sixth']);
  assert.deepEqual(await live(other, 'seventh', 'SIGTERM'), ['second', 'seventh', 'third']);
});
