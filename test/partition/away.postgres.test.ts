import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createServer } from '../../src/app/index.js';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { operationEnd } from '../../src/cli/partition/waiting.js';
import { eventually } from '../chaos/finding.js';
import { hastyTime } from '../support/hasty-time.js';
import { startPostgres, withoutPostgres } from '../support/postgres-server.js';
import { WireClient } from '../wire/kit/client.js';

void it(
  'a database that is away takes the ranges with it that it has, and no others, until it is back',
  { skip: withoutPostgres },
  async (t) => {
    const database = await startPostgres();
    t.after(() => database.dispose());
    const location = await mkdtemp(join(tmpdir(), 'tabularium-member-away-'));
    t.after(() => rm(location, { recursive: true, force: true }));
    const stores = { b: { location: join(location, 'b') }, c: { postgresUrl: database.url } };
    const home = join(location, 'home');
    await using server = await createServer({
      location: home,
      stores,
      controlPort: 0,
      ...hastyTime(),
    });
    const client = WireClient.of(server);
    t.after(() => client.close());
    const control = new RemotePartitions(server.controlPort ?? 0);
    const done = async ({ operation }: { readonly operation: number }) =>
      assert.equal((await operationEnd(control, operation)).state, 'done');
    const insert = (partition: string, row: string) =>
      client.insert('data', { PartitionKey: partition, RowKey: row });
    const serves = async (partition: string, row: string) => {
      assert.equal((await insert(partition, row)).status, 201);
      assert.equal((await client.get('data', partition, row)).status, 200);
    };
    const health = async () => (await fetch(`http://127.0.0.1:${server.tablePort}/healthz`)).status;

    await client.createTable('data');
    await done(await control.split(2, 'table/devstoreaccount1/data/b'));
    await done(await control.split(5, 'table/devstoreaccount1/data/c'));
    await done(await control.move(7, 'b'));
    await done(await control.move(8, 'c'));
    for (const partition of ['a', 'b', 'c']) await serves(partition, 'before');

    await database.stop('SIGQUIT');
    const asks = [() => insert('c', 'meanwhile'), () => client.get('data', 'c', 'before')];
    for (const answer of await Promise.all(asks.map((ask) => ask()))) {
      assert.deepEqual([answer.status, answer.header('Retry-After')], [503, '1'], answer.text);
      assert.match(answer.text, /ServerBusy/);
    }
    for (const partition of ['a', 'b']) await serves(partition, 'meanwhile');
    const page = await client.get('data', 'b', 'before');
    assert.equal(page.status, 200);
    assert.equal(await health(), 200);
    const { away } = await control.balance(true);
    assert.deepEqual(away, ['c']);

    await database.start();
    await eventually('the range serves', async () => {
      return (await client.get('data', 'c', 'before')).status === 200;
    });
    // Nothing of it was done.
    await serves('c', 'meanwhile');
  },
);
