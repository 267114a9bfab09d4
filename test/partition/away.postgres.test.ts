import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createServer } from '../../src/app/index.js';
import type { ServerOptions } from '../../src/app/options/table.js';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { operationEnd } from '../../src/cli/partition/waiting.js';
import { eventually } from '../chaos/finding.js';
import { hasteAway, hastyTime } from '../support/hasty-time.js';
import { startPostgres, withoutPostgres, type PostgresServer } from '../support/postgres-server.js';
import { WireClient } from '../wire/kit/client.js';
import type { WireResponse } from '../wire/kit/response.js';

/** A server over a directory and a database, and a table that both have a part of. */
async function worldOf(t: TestContext, optionsOf: (at: Places) => ServerOptions) {
  // What was begun last ends first.
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const database = await startPostgres();
  ends.push(() => database.dispose());
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-member-away-'));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  const options = optionsOf({ folder, database });
  const server = await createServer({ ...options, controlPort: 0, ...hastyTime(hasteAway) });
  ends.push(() => server.close());
  const client = WireClient.of(server);
  ends.push(() => client.close());
  const control = new RemotePartitions(server.controlPort ?? 0);
  const done = async ({ operation }: { readonly operation: number }) =>
    assert.equal((await operationEnd(control, operation)).state, 'done');
  await client.createTable('data');
  await done(await control.split(2, 'table/devstoreaccount1/data/b'));
  await done(await control.move(5, 'b'));
  const read = (partition: string) => client.get('data', partition, 'before');
  const insert = (partition: string, row: string) =>
    client.insert('data', { PartitionKey: partition, RowKey: row });
  const serves = async (partition: string, row: string) => {
    assert.equal((await insert(partition, row)).status, 201);
    assert.equal((await client.get('data', partition, row)).status, 200);
  };
  for (const partition of ['a', 'b']) await serves(partition, 'before');
  const health = async () => (await fetch(`http://127.0.0.1:${server.tablePort}/healthz`)).status;
  return { database, control, read, insert, serves, health };
}

interface Places {
  readonly folder: string;
  readonly database: PostgresServer;
}

function assertBusy(answer: WireResponse): void {
  assert.deepEqual([answer.status, answer.header('Retry-After')], [503, '1'], answer.text);
  assert.match(answer.text, /ServerBusy/);
}

void describe('a database of several stores that is away', { skip: withoutPostgres }, () => {
  void it('takes its ranges with it, and no others, until it is back', async (t) => {
    const { database, control, read, insert, serves, health } = await worldOf(
      t,
      ({ folder, database: { url } }) => ({
        location: join(folder, 'home'),
        stores: { b: { postgresUrl: url } },
      }),
    );
    await database.stop('SIGQUIT');
    for (const answer of await Promise.all([insert('b', 'meanwhile'), read('b')])) {
      assertBusy(answer);
    }
    await serves('a', 'meanwhile');
    assert.equal((await read('a')).status, 200);
    assert.equal(await health(), 200);
    assert.deepEqual((await control.balance(true)).away, ['b']);
    await database.start();
    await eventually('its range serves', async () => (await read('b')).status === 200);
    // Nothing of it was done.
    await serves('b', 'meanwhile');
  });

  void it('takes the names of tables with it where it is the home store', async (t) => {
    const { database, read, serves, health } = await worldOf(
      t,
      ({ folder, database: { url } }) => ({
        location: join(folder, 'content'),
        postgresUrl: url,
        stores: { b: { location: join(folder, 'b') } },
      }),
    );
    await database.stop('SIGQUIT');
    assertBusy(await read('b'));
    assert.equal(await health(), 503);
    await database.start();
    await eventually('the table serves', async () => (await read('b')).status === 200);
    for (const partition of ['a', 'b']) await serves(partition, 'afterwards');
  });
});
