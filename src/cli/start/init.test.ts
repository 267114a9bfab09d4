import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { runCli, type CliProcess } from '../../../test/support/cli-process.js';
import {
  connectionStringOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../test/support/cli-server.js';
import { costly, sampled } from '../../../test/support/run-length.js';
import { createServer } from '../../app/index.js';

function clientsOf(server: CliProcess) {
  const connection = connectionStringOf(server);
  return {
    table: TableClient.fromConnectionString(connection, 'people', {
      allowInsecureConnection: true,
    }),
    queue: QueueServiceClient.fromConnectionString(connection).getQueueClient('work'),
  };
}

async function rowsOf(table: TableClient): Promise<string[]> {
  const rows: string[] = [];
  for await (const { rowKey, Name } of table.listEntities<{ readonly Name?: string }>()) {
    rows.push(`${String(rowKey)} ${String(Name)}`);
  }
  return rows;
}

const seedText = `
tables:
  people:
    entities:
      - { PartitionKey: p, RowKey: "1", Name: Ann }
    files: [people.csv]
queues:
  work: { metadata: { owner: me }, messages: [first, second] }
`;

describe('tabularium start --init', () => {
  for (const workers of sampled([1, 2], 1)) {
    it(`makes what is absent at every start, once, with ${workers} workers`, costly(), async () => {
      await using directory = await temporaryDirectory();
      const seed = join(directory.path, 'seed.yaml');
      await writeFile(seed, seedText);
      await writeFile(join(directory.path, 'people.csv'), 'PartitionKey,RowKey,Name\np,2,Bo\n');
      const location = ['--location', join(directory.path, 'data')];
      const args = [...location, '--workers', String(workers), '--init', seed];
      const first = await startCli(args);
      const { table, queue } = clientsOf(first);
      // The server has imported everything when it says that it listens.
      assert.deepEqual(await rowsOf(table), ['1 Ann', '2 Bo']);
      assert.equal((await queue.getProperties()).approximateMessagesCount, 2);
      assert.deepEqual((await queue.getProperties()).metadata, { owner: 'me' });
      await table.upsertEntity({ partitionKey: 'p', rowKey: '1', Name: 'Anne' });
      await table.deleteEntity('p', '2');
      await queue.clearMessages();
      assert.equal(await stopCli(first), 0);
      assert.equal(first.stderr.split('"msg":"seeded"').length, 2, 'one process seeds');

      const second = await startCli(args);
      assert.deepEqual(await rowsOf(clientsOf(second).table), ['1 Anne', '2 Bo']);
      const { approximateMessagesCount } = await clientsOf(second).queue.getProperties();
      assert.equal(approximateMessagesCount, 0);
      assert.equal(await stopCli(second), 0);
    });
  }

  it(
    'can be set in the configuration file, and the seed is found relative to that file',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      await writeFile(join(directory.path, 'config.yaml'), 'inMemory: true\ninit: seed.yaml\n');
      await writeFile(join(directory.path, 'seed.yaml'), 'tables: { people: }\n');
      const server = await startCli(['--config', join(directory.path, 'config.yaml')]);
      assert.deepEqual(await rowsOf(clientsOf(server).table), []);
      assert.equal(await stopCli(server), 0);
    },
  );

  for (const workers of sampled([1, 2], 1)) {
    it(`does not serve when it cannot seed, with ${workers} workers`, costly(), async () => {
      await using directory = await temporaryDirectory();
      const seed = join(directory.path, 'seed.yaml');
      await writeFile(
        seed,
        'tables:\n  people:\n    entities:\n      - { PartitionKey: p, RowKey: a/b }\n',
      );
      const data = join(directory.path, 'data');
      const args = ['start', ...freePorts, '--location', data, '--workers', String(workers)];
      const result = await runCli([...args, '--init', seed]);
      assert.equal(result.code, 1);
      assert.equal(result.stdout, '');
      assert.match(result.stderr, /seed\.yaml:4:9: tables people \("p", "a\/b"\): OutOfRangeInput/);
      // No leftover file keeps the next server from starting.
      const server = await createServer({ location: data, tablePort: 0, queuePort: 0 });
      await server.close();
    });
  }

  it('tells each mistake of a seed on a line of its own', costly(), async () => {
    await using directory = await temporaryDirectory();
    const seed = join(directory.path, 'seed.yaml');
    await writeFile(seed, 'tables:\n  "1x": {}\nqueues:\n  A: {}\n');
    const { code, stderr } = await runCli(['start', ...freePorts, '--in-memory', '--init', seed]);
    assert.equal(code, 1);
    const places = stderr
      .trimEnd()
      .split('\n')
      .map((line) => /seed\.yaml:(\d+):/.exec(line)?.[1]);
    assert.deepEqual(places, ['2', '4']);
  });
});
