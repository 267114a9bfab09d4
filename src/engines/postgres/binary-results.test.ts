import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Client, DatabaseError } from 'pg';
import { scriptedPostgres } from '../../../test/support/scripted-postgres.js';
import { it } from '../../base/conformance/limited-test.js';
import { readAsBytes } from './binary-results.js';
import { failureOf, type FailureKind } from './failures.js';

async function failureTold(...fields: readonly string[]): Promise<DatabaseError> {
  await using server = await scriptedPostgres(() => ({ kind: 'error', fields, ends: false }));
  const client = new Client({ connectionString: server.address });
  client.on('error', () => undefined);
  readAsBytes(client);
  try {
    await client.connect();
    await client.query('select 1');
  } catch (thrown) {
    assert.ok(thrown instanceof DatabaseError);
    return thrown;
  } finally {
    await client.end();
  }
  return assert.fail('the query fails');
}

describe('the severity of an error that a client is told', () => {
  it('is read in English from a server that speaks another language', async () => {
    const cases: readonly (readonly [string, string, FailureKind])[] = [
      ['ПАНИКА', 'PANIC', 'lost'],
      ['PANIK', 'PANIC', 'lost'],
      ['致命错误', 'FATAL', 'lost'],
      ['ОШИБКА', 'ERROR', 'refused'],
      ['FEHLER', 'ERROR', 'refused'],
    ];
    for (const [localized, plain, kind] of cases) {
      const error = await failureTold(`S${localized}`, `V${plain}`, 'C53100', 'Mvoll');
      assert.equal(error.severity, plain);
      assert.equal(error.code, '53100');
      assert.equal(error.message, 'voll');
      assert.equal(failureOf(error), kind);
    }
  });

  it('is the localized one where no other is told', async () => {
    const error = await failureTold('SERROR', 'C53100', 'Mfull');
    assert.equal(error.severity, 'ERROR');
  });
});
