import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import {
  connectionStringOf,
  endpointOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import { runCli, type CliProcess } from '../support/cli-process.js';
import { runCommand } from '../support/command-host.js';
import { runSql } from '../support/engine-postgres.js';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { costly } from '../support/run-length.js';

const partitions = ['a', 'f', 'm', 's', 'z'];
const place = 'table/devstoreaccount1/orders';

void describe('a configuration file with stores', { skip: withoutPostgres }, () => {
  const database = postgresOfSuite();

  void it(
    'makes one server of directories and a database, with journals and without',
    costly(),
    async () => {
      await using folder = await temporaryDirectory();
      const config = join(folder.path, 'tabularium.yaml');
      await runSql(database().url, 'create database orders');
      const postgresUrl = database().url.replace(/postgres$/, 'orders');
      // Places are those beside the file.
      const stores = ['stores:', '  b: { location: b }', `  c: { postgresUrl: '${postgresUrl}' }`];
      const write = (...more: readonly string[]) =>
        writeFile(config, ['location: home', ...stores, ...more, ''].join('\n'));
      const start = () => startCli(['--config', config, '--control-port', '0']);

      await write();
      let server = await start();
      const etags = await fill(server);
      const partition = async (...words: readonly string[]) => {
        const { code, stderr } = await runCommand(['partition', ...words, ...controlOf(server)]);
        assert.equal(code, 0, stderr);
      };
      await partition('split', '2', '--at', `${place}/f`);
      await partition('split', '5', '--at', `${place}/s`);
      await partition('move', '7', '--to', 'b');
      await partition('move', '8', '--to', 'c');
      assert.deepEqual(await stored(server), etags);
      const beside = await runCommand(['partition', 'list', '--config', config]);
      assert.equal(beside.code, 1);
      assert.match(beside.stderr, /keeps a journal.*ask it: start it with --control-port/s);
      assert.equal(await stopCli(server), 0);

      await write('journal: off');
      server = await start();
      assert.deepEqual(await stored(server), etags);
      assert.deepEqual(await storesOfRanges('--config', config), ['home', 'home', 'b', 'c']);
      // Without a journal, another process may do the work.
      const moved = await runCommand(['partition', 'move', '7', '--to', 'c', '--config', config]);
      assert.equal(moved.code, 0, moved.stderr);
      assert.deepEqual(await stored(server), etags);
      assert.equal(await stopCli(server), 0);

      await write();
      server = await start();
      assert.deepEqual(await storesOfRanges(...controlOf(server)), ['home', 'home', 'c', 'c']);
      assert.deepEqual(await stored(server), etags);
      assert.equal(await stopCli(server), 0);

      stores.pop();
      await write();
      const refused = await runCli(['start', ...freePorts, '--config', config]);
      assert.equal(refused.code, 1, refused.stderr);
      assert.match(refused.stderr, /'c' \(.*orders.*\) is not among those that were named/);
    },
  );
});

function controlOf(server: CliProcess): readonly string[] {
  return ['--control-port', endpointOf(server, 'Control').port];
}

async function storesOfRanges(...access: readonly string[]): Promise<readonly string[]> {
  const { stdout, stderr } = await runCommand(['partition', 'list', '--json', ...access]);
  assert.equal(stderr, '');
  const { ranges } = JSON.parse(stdout) as {
    readonly ranges: readonly { readonly store: string }[];
  };
  return ranges.map(({ store }) => store);
}

function tableOf(server: CliProcess): TableClient {
  return TableClient.fromConnectionString(connectionStringOf(server), 'orders', {
    allowInsecureConnection: true,
  });
}

/** Returns the etags of the rows. */
async function fill(server: CliProcess): Promise<ReadonlyMap<string, string | undefined>> {
  const table = tableOf(server);
  await table.createTable();
  const etags = new Map<string, string | undefined>();
  for (const partitionKey of partitions) {
    etags.set(partitionKey, (await table.createEntity({ partitionKey, rowKey: '1' })).etag);
  }
  return etags;
}

async function stored(server: CliProcess): Promise<ReadonlyMap<string, string | undefined>> {
  const etags = new Map<string, string | undefined>();
  for await (const { partitionKey = '', etag } of tableOf(server).listEntities()) {
    etags.set(partitionKey, etag);
  }
  return etags;
}
