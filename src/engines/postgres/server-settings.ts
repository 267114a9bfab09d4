import { DatabaseError } from './database-error.js';
import type { Link } from './link.js';
import { bytesOf } from './rows.js';

/** The oldest release that has all of what is used. */
const versionMin = 150_000;

const settings = {
  name: 'settings',
  text: `select pg_is_in_recovery()::text, current_setting('transaction_read_only'),
    current_setting('server_version_num'), current_setting('transaction_isolation'),
    current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit')`,
};

/** With the others, a standby that takes over may lack what was acknowledged. */
const durableCommits = new Set(['on', 'remote_apply']);

/**
 * Whether the server of a connection is a standby. Throws `DatabaseError` when it is none and must
 * not be used: it takes no writes, or commits would not be durable, or would not see each other.
 * Asked on each connection: a standby that takes over has settings of its own.
 */
export async function isStandby(link: Link, isRelaxed: boolean): Promise<boolean> {
  const [row = []] = await link.query(settings, []);
  const [inRecovery, readsOnly, version = '', isolation, ...durability] = row.map((field) =>
    bytesOf(field).toString(),
  );
  if (inRecovery === 'true') return true;
  if (readsOnly === 'on') {
    throw new DatabaseError(
      'It is read-only: set default_transaction_read_only = off for the database and the user.',
    );
  }
  if (Number(version) < versionMin) {
    throw new DatabaseError(
      `The database is of version ${Number(version) / 10_000}: PostgreSQL 15 or newer is needed.`,
    );
  }
  // A connection of a pooler keeps the settings of its user and its database.
  if (isolation !== 'read committed') {
    throw new DatabaseError(
      `Transactions of this user are ${isolation} by default. Set default_transaction_isolation = ` +
        `'read committed' for the user and the database.`,
    );
  }
  if (!isRelaxed) assertDurable(durability);
  return false;
}

function assertDurable([fsync, fullPageWrites, synchronousCommit = '']: readonly string[]): void {
  const wrong = [
    ...(fsync === 'on' ? [] : [`fsync is ${fsync}`]),
    ...(fullPageWrites === 'on' ? [] : [`full_page_writes is ${fullPageWrites}`]),
    ...(durableCommits.has(synchronousCommit)
      ? []
      : [`synchronous_commit is ${synchronousCommit}`]),
  ];
  if (wrong.length === 0) return;
  throw new DatabaseError(
    `The database would lose what it has acknowledged: ${wrong.join(', ')}. Set it to on, or start ` +
      'with --durability relaxed.',
  );
}
