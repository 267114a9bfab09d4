import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { it } from 'node:test';
import { startDurableServer } from '../../test/support/start-server.js';
import { WireClient } from '../../test/wire/kit/client.js';

/** The first log message of a server whose files are missing. */
const missed = {
  on: /The journal file .*journal.* was moved, replaced or removed/,
  off: /The file .*data\.mdb is gone/,
};

for (const journal of ['on', 'off'] as const) {
  const mode = `journal ${journal}`;
  it(`refuses writes, is unhealthy and says why when its directory is removed (${mode})`, () =>
    removeUnder(journal));
}

async function removeUnder(journal: 'on' | 'off'): Promise<void> {
  await using started = await startDurableServer({ journal });
  const client = new WireClient(started.server.tablePort);
  const table = await client.newTable();
  assert.equal((await fetch(healthUrl(started.server.tablePort))).status, 200);
  await rm(started.location ?? '', { recursive: true });
  const refused = await client.insert(table, { PartitionKey: 'p', RowKey: 'r' });
  assert.equal(refused.status, 500);
  assert.equal((await fetch(healthUrl(started.server.tablePort))).status, 503);
  assert.equal((await client.query(table)).status, 200);
  assert.match(JSON.stringify(started.errors, textOfErrors), missed[journal]);
  client.close();
}

it('tells the control API why its data cannot be reset', async () => {
  await using started = await startDurableServer({ controlPort: 0 });
  await rm(started.location ?? '', { recursive: true });
  const url = `http://127.0.0.1:${started.server.controlPort}/reset`;
  const answer = await fetch(url, { method: 'POST' });
  assert.equal(answer.status, 500);
  assert.match(await answer.text(), /The content could not be written: ENOENT/);
});

function healthUrl(port: number): string {
  return `http://127.0.0.1:${port}/healthz`;
}

function textOfErrors(_name: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}
