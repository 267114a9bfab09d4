import {
  commitParameters,
  ingestParameters,
  insertParameters,
  isInsertion,
} from './batch-parameters.js';
import type { BatchCall, CommitForm } from './commit-form.js';
import { NotDurableError } from './failures.js';
import { decodeOutcomes } from './outcomes.js';
import { bytesOf } from './rows.js';
import type { Statement, Statements } from './statements.js';

/** A batch is one call of a function in the database: one round trip. */
export function functionForm({ commitBatch, insertBatch, ingestBatch }: Statements): CommitForm {
  return {
    pipelines: false,
    commits: (batches, options) =>
      options.slots !== 'all' && batches.every(isInsertion)
        ? callOf(insertBatch, insertParameters(batches, options))
        : callOf(commitBatch, commitParameters(batches, options)),
    ingestion: (ingestion) => callOf(ingestBatch, ingestParameters(ingestion)),
  };
}

function callOf(statement: Statement, parameters: readonly unknown[]): BatchCall {
  return async (connection, { id, number }) => {
    const [row] = await connection.query(statement, [id, String(number), ...parameters]);
    if (row === undefined) throw new NotDurableError();
    return decodeOutcomes(bytesOf(row[0]));
  };
}
