import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  EntityExistsError,
  RequestError,
  TransactionFailedError,
  type ServiceFailure,
} from '../../table/errors.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { stampedTable } from './stamped-table.js';

const row = { partitionKey: 'p', rowKey: 'r', properties: {} };
const write: RowWrite = { kind: 'insert', row };
const exists: ServiceFailure = { status: 409, code: 'EntityAlreadyExists' };
const tooMuch: ServiceFailure = { status: 413, code: 'RequestBodyTooLarge' };

/** A table without rows, whose transactions fail with the failure. */
function failing(failure: Error): TableGateway {
  return {
    table: 'countries',
    write: () => Promise.reject(new Error('not by itself')),
    transact: () => Promise.reject(failure),
    get: () => Promise.resolve(undefined),
    page: () => Promise.resolve({ rows: [] }),
  };
}

describe('a single write of reference data', () => {
  it('fails as the write, not as the transaction that raises the stamp with it', async () => {
    const reason = new EntityExistsError('it is there', exists);
    const table = stampedTable(failing(new TransactionFailedError('no', 1, reason)));
    await assert.rejects(table.write(write), reason);
  });

  it('does not fail as the write where the stamp was refused, or nobody says what was', async () => {
    const reason = new RequestError('too much', tooMuch);
    for (const index of [0, undefined]) {
      const table = stampedTable(failing(new TransactionFailedError('no', index, reason)));
      await assert.rejects(table.write(write), {
        name: 'TransactionFailedError',
        index: undefined,
      });
    }
  });
});
