import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { int8Field } from '../../../test/support/scripted-postgres.js';
import type { GuardedBatch } from '../../kv/guards.js';
import type { Ingestion } from '../../kv/ingestion.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { BatchCall, BatchConnection } from './commit-form.js';
import { slotsOf } from './slots.js';
import { statementsFor } from './statements.js';
import { transactionForm } from './transaction-form.js';

const statements = statementsFor('tabularium');
const form = transactionForm(statements);
const keyOf = (name: string) =>
  Buffer.concat([partitionPrefix('tables', 'account', 1, 'partition'), Buffer.from(name)]);

const guard = { key: keyOf('guard'), version: 0 };
const put = { key: keyOf('put'), value: Buffer.from('value') };
const commit: GuardedBatch = {
  checks: [{ key: put.key, version: 'absent' }],
  puts: [put],
  deletes: [keyOf('gone')],
  adds: [{ key: keyOf('count'), delta: 1 }],
};
const ingestion: Ingestion = {
  floor: 9,
  entries: [{ ...put, version: 5 }],
  deletes: [keyOf('gone')],
};

const calls: Readonly<Record<string, BatchCall>> = {
  'a batch of commits': form.commits([commit], { nowMicros: 1, slots: slotsOf(commit) }),
  'a batch with a fence': form.commits([commit], { nowMicros: 1, slots: 'all' }),
  'a refused batch': form.commits([{ ...commit, guard }], {
    nowMicros: 1,
    slots: slotsOf(commit),
  }),
  'an ingestion': form.ingestion(ingestion),
  'a refused ingestion': form.ingestion({ ...ingestion, guard }),
};

function errorOf(code: string): DatabaseError {
  const error = new DatabaseError(`code ${code}`, 0, 'error');
  error.code = code;
  return error;
}

/**
 * A connection whose database fails the transaction at one of its queries, counted from 0. Of the
 * answers that arrive together, the error of that query is the last to be known.
 */
function failingAt(place: number, code: string) {
  const sent: string[] = [];
  const answered = async (query: string) => {
    const at = sent.push(query) - 1;
    if (query === 'rollback' || at < place) return [[int8Field(1)]];
    if (at > place) throw errorOf('25P02');
    await turn();
    throw errorOf(code);
  };
  const none = new Set([statements.versionsOf.name, statements.getMany.name]);
  const connection: BatchConnection = {
    isLost: false,
    destroy: () => assert.fail('the connection stays usable'),
    query: async ({ name }) => {
      const rows = await answered(name);
      return none.has(name) ? [] : rows;
    },
    run: async (text) => void (await answered(text)),
  };
  return { connection, sent };
}

describe('a transaction of plain statements', () => {
  for (const [name, call] of Object.entries(calls)) {
    it(`that fails at any query tells the error of that one: ${name}`, async () => {
      const batch = { id: '1', number: 1 };
      const whole = failingAt(Infinity, '');
      assert.equal((await call(whole.connection, batch)).length, 1);
      for (const [place, query] of whole.sent.entries()) {
        const { connection, sent } = failingAt(place, '40001');
        await assert.rejects(call(connection, batch), { code: '40001' }, query);
        assert.equal(sent.at(-1), 'rollback');
      }
    });
  }
});
