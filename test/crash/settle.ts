import assert from 'node:assert/strict';
import { stampOf } from '../sim/model.js';
import { entityPath, type WireClient } from '../wire/kit/client.js';
import { readEverything } from './inspect.js';
import type { Ledger } from './ledger.js';
import { mainTable } from './load.js';

/**
 * Checks that all tables have what the ledger says, and that a new write has a later version than
 * all before. Afterwards the content counts as acknowledged.
 */
export async function settle(ledger: Ledger, client: WireClient): Promise<void> {
  const before = ledger.highest;
  assert.deepEqual(ledger.settle(await readEverything(client)), []);
  const response = await client.send({
    method: 'PUT',
    path: entityPath(mainTable, 'probe', 'probe'),
    body: JSON.stringify({ serial: ledger.nextSerial(), pad: '' }),
  });
  assert.equal(response.status, 204, response.text);
  const etag = response.header('ETag') ?? '';
  assert.ok(stampOf(etag) > before, `${etag} is not above ${before}`);
  assert.ok(stampOf(etag) > ledger.highest, `${etag} is not above ${ledger.highest}`);
  await client.send({
    method: 'DELETE',
    path: entityPath(mainTable, 'probe', 'probe'),
    headers: { 'If-Match': etag },
  });
  ledger.note(etag);
}
