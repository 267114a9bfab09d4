import { codeOf, messageOf } from '../../base/thrown.js';
import { DatabaseError } from './database-error.js';
import type { Connection } from './connection.js';
import { numberOf } from './rows.js';

/**
 * A pooler that has two processes and takes them in turns gives both connections what each had
 * before, as long as both ask in turns. So the first one asks twice in a row as well.
 */
const questionsInARow = 2;

/** What a pooler in statement mode answers to the begin of a transaction: a violation. */
const noTransactionsCode = '08P01';

/**
 * Throws `DatabaseError` when the connection takes no transactions, as behind a pooler in statement
 * mode. A page that needs a second statement would then fail, at random.
 */
export async function assertTransactions(connection: Connection): Promise<void> {
  try {
    await connection.run('begin');
    await connection.run('rollback');
  } catch (error) {
    if (codeOf(error) !== noTransactionsCode) throw error;
    const text =
      `It takes no transactions (${messageOf(error)}), as a pooler in statement mode: have the ` +
      'pooler in session mode, or in transaction mode with prepare=false in the URL.';
    throw new DatabaseError(text, { cause: error });
  }
}

const processOf = { name: 'process', text: 'select pg_backend_pid()::bigint' };

/**
 * Throws `DatabaseError` when connections share processes of the database, as they do behind a
 * pooler that gives a process to a connection for one transaction. What is prepared and set on one
 * of them would then be on another, which may be that of another schema.
 */
export async function assertUnshared(
  first: Connection,
  connect: () => Promise<Connection>,
): Promise<void> {
  const second = await connect();
  try {
    const before = await numberOfProcess(first);
    // While it is in a transaction, nobody else has its process.
    await second.run('begin');
    let isApart = (await numberOfProcess(second)) !== before;
    if (isApart) isApart = (await numberOfProcess(first)) === before;
    await second.run('rollback');
    for (let asked = 0; isApart && asked < questionsInARow; asked += 1) {
      isApart = (await numberOfProcess(first)) === before;
    }
    if (isApart) return;
    throw new DatabaseError(
      'Connections to it share processes of the database, as behind a pooler in transaction mode: ' +
        'add prepare=false to the URL, or have the pooler in session mode.',
    );
  } finally {
    await second.close();
  }
}

async function numberOfProcess(connection: Connection): Promise<number> {
  const [row] = await connection.query(processOf, []);
  return numberOf(row?.[0]);
}
