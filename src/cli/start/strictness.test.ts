import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WireClient } from '../../../test/wire/kit/client.js';
import { runCli } from '../../../test/support/cli-process.js';
import {
  endpointOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../test/support/cli-server.js';
import { lenientItemNames } from '../../http/operations/request-rules.js';
import { costly } from '../../../test/support/run-length.js';

const rows = Array.from({ length: 40 }, (_, row) => ({
  PartitionKey: `p${row % 5}`,
  RowKey: `r${row}`,
}));

describe('tabularium start', () => {
  it(
    'shapes pages and holds names alike in every worker, and says what it does',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const modes = [
        '--paging-test-mode',
        '--simulate-table-delete-delay',
        '40s',
        '--lenient',
        'top',
      ];
      const cli = await startCli(['--location', directory.path, '--workers', '2', ...modes]);
      try {
        assert.match(cli.stdout, /\n {2}Lenient {5}top\n/);
        assert.match(cli.stdout, /\n {2}Deleted {5}names of tables stay taken for 40000 ms\n/);
        assert.match(cli.stdout, /\n {2}Paging {6}test mode, seed \d+\n/);
        const port = Number(endpointOf(cli).port);
        const client = new WireClient(port);
        const table = await client.newTable();
        await client.put(table, ...rows);
        for (let row = 0; row < 8; row += 1) {
          // Connections are distributed to the workers in turn.
          const pages: string[] = [];
          for (let connection = 0; connection < 2; connection += 1) {
            const own = new WireClient(port);
            pages.push(await pageOf(own, table, `RowKey ne 'r${row}'`));
            own.close();
          }
          assert.equal(pages[0], pages[1]);
        }
        assert.equal((await client.query(table, { top: 5000 })).status, 200);
        await client.send({ method: 'DELETE', path: `/Tables('${table}')` });
        for (let connection = 0; connection < 4; connection += 1) {
          const own = new WireClient(port);
          const body = JSON.stringify({ TableName: table });
          const { status, text } = await own.send({ method: 'POST', path: '/Tables', body });
          assert.equal(status, 409);
          assert.match(text, /TableBeingDeleted/);
          own.close();
        }
        client.close();
      } finally {
        assert.equal(await stopCli(cli), 0);
      }
    },
  );

  it('lists what can be allowed in its help', async () => {
    const help = await runCli(['start', '--help']);
    for (const name of lenientItemNames) assert.ok(help.stdout.includes(`\n  ${name} `), name);
  });
});

/** The rows of a page, and the start of the next one. */
async function pageOf(client: WireClient, table: string, filter: string): Promise<string> {
  const response = await client.query(table, { filter });
  assert.equal(response.status, 200);
  const token = ['partitionkey', 'rowkey'].map((name) =>
    response.header(`x-ms-continuation-next${name}`),
  );
  return JSON.stringify([response.items.map((item) => item['RowKey']), token]);
}
