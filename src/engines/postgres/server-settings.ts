import { DatabaseError } from './database-error.js';
import type { Connection } from './connection.js';
import { durableCommits } from './durability.js';
import { rulesOf } from './product.js';

/** Null for settings that the product does not have. */
const settings = {
  name: 'settings',
  text: `select current_setting('transaction_read_only'), current_setting('transaction_isolation'),
    current_setting('server_version_num'), current_setting('fsync', true),
    current_setting('full_page_writes', true), current_setting('synchronous_commit', true)`,
};

const recovery = { name: 'recovery', text: 'select pg_is_in_recovery()::text' };

/**
 * Whether a server is a standby. Throws `DatabaseError` for a server that is none and must not be
 * used: it is read-only, its commits would not be durable, or its isolation is unsuitable. Checked
 * on each connection, because a promoted standby has settings of its own.
 */
export async function isStandby(connection: Connection, isRelaxed: boolean): Promise<boolean> {
  const { product } = connection;
  const { hasStandbys, versionMin, isolations, tellsDurability } = rulesOf(product);
  const [row = []] = await connection.query(settings, []);
  const [readsOnly, isolation = '', version = '', ...durability] = row.map((field) =>
    field === null ? '' : field.toString(),
  );
  if (hasStandbys) {
    const [found] = await connection.query(recovery, []);
    if (found?.[0]?.toString() === 'true') return true;
  }
  if (readsOnly === 'on') {
    throw new DatabaseError(
      'It is read-only: set default_transaction_read_only = off for the database and the user.',
    );
  }
  if (versionMin !== undefined && Number(version) < versionMin) {
    throw new DatabaseError(
      `The database is of version ${Number(version) / 10_000}: ${product} ${versionMin / 10_000} or ` +
        'newer is needed.',
    );
  }
  // Behind a pooler the settings of the user and the database apply, not those that a connection
  // sets.
  if (!isolations.has(isolation)) {
    throw new DatabaseError(
      `Transactions of this user are ${isolation} by default. Set default_transaction_isolation = ` +
        `'read committed' for the user and the database.`,
    );
  }
  if (!isRelaxed && tellsDurability) assertDurable(durability);
  return false;
}

function assertDurable([fsync, fullPageWrites, synchronousCommit = '']: readonly string[]): void {
  const wrong = [
    ...(fsync === 'on' ? [] : [`fsync is ${fsync}`]),
    ...(fullPageWrites === 'on' ? [] : [`full_page_writes is ${fullPageWrites}`]),
    ...(durableCommits.includes(synchronousCommit)
      ? []
      : [`synchronous_commit is ${synchronousCommit}`]),
  ];
  if (wrong.length === 0) return;
  throw new DatabaseError(
    `The database would lose what it has acknowledged: ${wrong.join(', ')}. Set it to on, or start ` +
      'with --durability relaxed.',
  );
}
