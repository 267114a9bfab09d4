import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plain, rowsUnder } from '../support/compatibility-page.js';
import { startWorld, type AnyService } from '../support/compatibility-world.js';
import { entityPath } from '../wire/kit/client.js';
import { assertStatus } from '../wire/kit/errors.js';
import type { WireResponse } from '../wire/kit/response.js';
import { tableSas, withSas } from '../wire/kit/sas.js';
import type { WireRequest } from '../wire/kit/signing-client.js';

// The responses of docs/reference/compatibility.md that differ from those of the cloud service.

const { tables, services, table } = await startWorld();

const policies =
  '<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>' +
  '<Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy>' +
  '</SignedIdentifier></SignedIdentifiers>';

const [tableService, queueService] = services;
assert.ok(tableService !== undefined && queueService !== undefined);

const outcome = (response: WireResponse): string =>
  `${response.status} ${response.header('x-ms-error-code') ?? ''}`.trim();

/** Deletes a table or queue and creates it again. */
async function remade(service: AnyService, target: string, creation: WireRequest): Promise<string> {
  for (const [request, status] of [
    [creation, 201],
    [{ method: 'DELETE', path: target }, 204],
  ] as const) {
    assertStatus(await service.send(request), status);
  }
  return outcome(await service.send(creation));
}

const tableCreation = { method: 'POST', path: '/Tables', body: '{"TableName":"remade"}' };

/** In the order of the page. */
const differing: readonly (() => Promise<string>)[] = [
  async () => outcome(await tables.send({ path: `/${table}(PartitionKey='a%01',RowKey='1')` })),
  async () => outcome(await tables.send({ path: "/Tables?$filter=Other%20eq%20'x'" })),
  () => remade(tableService, "/Tables('remade')", tableCreation),
  () => remade(queueService, '/remade', { method: 'PUT', path: '/remade' }),
  async () => {
    const path = `/${table}?comp=acl`;
    assertStatus(await tables.send({ method: 'PUT', path, body: policies }), 204);
    const token = tableSas({ tn: table, se: undefined, si: 'readers' });
    const { status } = await tables.send({
      path: withSas(entityPath(table, 'p', '1'), token),
      auth: 'none',
    });
    return status === 200 ? 'good at once' : String(status);
  },
];

describe('Answers that differ', () => {
  const rows = rowsUnder('Answers that differ');

  it('are all asked for here', () => assert.equal(rows.length, differing.length));

  for (const [index, [request = '', , here = '']] of rows.entries()) {
    it(plain(request), async () => assert.equal(await differing[index]?.(), plain(here)));
  }
});
