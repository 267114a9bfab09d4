import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { TableClient, TableServiceClient, AzureNamedKeyCredential } from '@azure/data-tables';
import { runSql } from '../../test/support/engine-postgres.js';
import {
  startPostgres,
  startStandby,
  withoutPostgres,
} from '../../test/support/postgres-server.js';
import { it } from '../base/conformance/limited-test.js';
import { invariant } from '../base/invariant.js';
import { developmentAccount } from '../services/accounts/directory.js';
import { createServer } from './server.js';

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

void describe('the secondary endpoint over a standby', { skip: withoutPostgres }, () => {
  it('shows what LastSyncTime promises, no newer writes, and nothing while it is away', async () => {
    const primary = await startPostgres();
    const standby = await startStandby(primary);
    const location = await mkdtemp(join(tmpdir(), 'tabularium-secondary-'));
    const { url: postgresUrl } = primary;
    const server = await createServer({ location, postgresUrl, postgresReplicas: standby.url });
    const people = TableClient.fromConnectionString(server.connectionString(), 'people', options);
    await people.createTable();

    const { name } = developmentAccount;
    const key = 'key' in developmentAccount ? developmentAccount.key : developmentAccount.keys[0];
    invariant(typeof key === 'string', 'the account has a key');
    const credential = new AzureNamedKeyCredential(name, key);
    const endpoint = server.tableEndpoint.replace(/\/?$/, '-secondary');
    const secondary = new TableClient(endpoint, 'people', credential, options);
    const service = new TableServiceClient(endpoint, credential, options);
    const geo = async () => (await service.getStatistics()).geoReplication;
    // An empty time is an invalid date for the client.
    const syncedTo = async (): Promise<number> => {
      const stats = await geo();
      return stats?.status === 'live' ? (stats.lastSyncTime?.getTime() ?? 0) : 0;
    };
    const statusOf = (rowKey: string): Promise<number> =>
      secondary.getEntity('p', rowKey).then(
        () => 200,
        (error: unknown) => Number(Reflect.get(Object(error), 'statusCode')),
      );

    await people.createEntity({ partitionKey: 'p', rowKey: 'first' });
    const written = Date.now();
    // LastSyncTime has whole seconds, rounded down.
    while ((await syncedTo()) < written) await pause(100);
    assert.equal((await geo())?.status, 'live');
    assert.equal(await statusOf('first'), 200);
    await assert.rejects(secondary.createEntity({ partitionKey: 'p', rowKey: 'x' }), {
      statusCode: 403,
    });

    await runSql(standby.url, 'select pg_wal_replay_pause()');
    const state = async () =>
      JSON.stringify(await runSql(standby.url, 'select pg_get_wal_replay_pause_state() as state'));
    while (!(await state()).includes('"paused"')) await pause(20);
    const paused = Date.now();
    await people.createEntity({ partitionKey: 'p', rowKey: 'second' });
    await pause(2_000);
    assert.equal(await statusOf('second'), 404);
    assert.ok((await syncedTo()) <= paused);
    await runSql(standby.url, 'select pg_wal_replay_resume()');
    while ((await syncedTo()) < paused + 1_000) await pause(100);
    assert.equal(await statusOf('second'), 200);

    await standby.stop('SIGINT');
    assert.equal((await geo())?.status, 'unavailable');
    assert.equal(await statusOf('first'), 503);
    assert.equal((await people.getEntity('p', 'first')).rowKey, 'first');
    await standby.start();
    assert.equal(await statusOf('first'), 200);
    await server.close();
    await standby.dispose();
    await primary.dispose();
    await rm(location, { recursive: true, force: true });
  });
});
