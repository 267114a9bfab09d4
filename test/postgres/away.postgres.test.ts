import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createServer } from '../../src/app/index.js';
import { eventually } from '../chaos/finding.js';
import { hasteAway, hastyTime } from '../support/hasty-time.js';
import { startPostgres, withoutPostgres } from '../support/postgres-server.js';
import { WireClient } from '../wire/kit/client.js';

void it(
  'says 503 and when to come back while its database is away, and serves when it is back',
  {
    skip: withoutPostgres,
  },
  async (t) => {
    const database = await startPostgres();
    t.after(() => database.dispose());
    const location = await mkdtemp(join(tmpdir(), 'tabularium-away-'));
    t.after(() => rm(location, { recursive: true, force: true }));
    const ports = { tablePort: 0, queuePort: 0, blobPort: 0 };
    const server = await createServer({
      location,
      postgresUrl: database.url,
      ...ports,
      ...hastyTime(hasteAway),
    });
    const client = WireClient.of(server);
    const health = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.tablePort}/healthz`);
      return [answer.status, answer.headers.get('retry-after'), await answer.text()];
    };
    const insert = (key: string) => client.insert('data', { PartitionKey: 'p', RowKey: key });
    try {
      await client.createTable('data');
      assert.equal((await insert('before')).status, 201);
      await database.stop('SIGINT');
      const away = [503, '1', '{"status":"unavailable","reason":"away"}'];
      assert.deepEqual(await health(), away);
      for (const ask of [() => insert('meanwhile'), () => client.get('data', 'p', 'before')]) {
        const answer = await ask();
        assert.deepEqual([answer.status, answer.header('Retry-After')], [503, '1'], answer.text);
        assert.match(answer.text, /ServerBusy/);
      }
      assert.deepEqual(await health(), away);
      await database.start();
      await eventually('the server is healthy', async () => (await health())[0] === 200);
      assert.equal((await client.get('data', 'p', 'before')).status, 200);
      // Nothing of it was done.
      assert.equal((await insert('meanwhile')).status, 201);
    } finally {
      client.close();
      await server.close();
    }
  },
);
