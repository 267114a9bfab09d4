import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  queueDifferences,
  tableDifferences,
  type Difference,
} from '../support/azurite-differences.js';
import { blobDifferences } from '../support/azurite-blob-differences.js';
import { plain, rowsUnder } from '../support/compatibility-page.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { startFixture } from '../wire/kit/server.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';

// The tables of differences in docs/reference/compatibility.md: a server must answer each row's
// request as the row says.

const { client: tables, server } = await startFixture();
const queues = QueueWireClient.of(server);
const blobs = BlobWireClient.of(server);
after(() => queues.close());
after(() => blobs.close());

interface Asked {
  readonly request: string;
  readonly ask: () => Promise<string>;
}

function askedOf<Client>(differences: readonly Difference<Client>[], client: Client): Asked[] {
  return differences.map((each) => ({ request: each.request, ask: () => each.ask(client) }));
}

const services: readonly (readonly [heading: string, asked: readonly Asked[]])[] = [
  ['Tables beside Azurite', askedOf(tableDifferences, tables)],
  ['Queues beside Azurite', askedOf(queueDifferences, queues)],
  ['Blobs beside Azurite', askedOf(blobDifferences, blobs)],
];

for (const [heading, differences] of services) {
  describe(heading, () => {
    const rows = rowsUnder(heading);

    it('has the rows that are asked for here, and no others', () => {
      const requests = rows.map(([request]) => request);
      assert.deepEqual(
        requests,
        differences.map(({ request }) => request),
      );
    });

    for (const { request, ask } of differences) {
      it(plain(request), async () => {
        const [, azurite = '', here = ''] = rows.find(([each]) => each === request) ?? [];
        assert.notEqual(plain(azurite), plain(here), 'a difference');
        assert.equal(await ask(), plain(here));
      });
    }
  });
}
