import { DatabaseError } from './database-error.js';
import type { Connection } from './connection.js';
import { numberOf } from './rows.js';

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
    const isApart =
      (await numberOfProcess(second)) !== before && (await numberOfProcess(first)) === before;
    await second.run('rollback');
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
