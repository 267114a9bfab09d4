import { DatabaseError } from './database-error.js';
import type { Link } from './link.js';
import { bytesOf } from './rows.js';

/** The oldest release that has all of what is used. */
const versionMin = 150_000;

const settings = {
  name: 'settings',
  text: `select current_setting('server_version_num'), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('transaction_isolation')`,
};

/** Throws `DatabaseError` when commits would not be durable, or would not see each other. */
export async function assertServerSettings(
  link: Link,
  durability: 'durable' | 'relaxed',
): Promise<void> {
  const [row = []] = await link.query(settings, []);
  const [version = '', fsync, fullPageWrites, synchronousCommit, isolation] = row.map((field) =>
    bytesOf(field).toString(),
  );
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
  if (durability === 'relaxed') return;
  const off = [
    ...(fsync === 'off' ? ['fsync'] : []),
    ...(fullPageWrites === 'off' ? ['full_page_writes'] : []),
    ...(synchronousCommit === 'off' ? ['synchronous_commit'] : []),
  ];
  if (off.length === 0) return;
  throw new DatabaseError(
    `The database would lose what it has acknowledged: ${off.join(', ')} is off. Switch it on, or ` +
      'start with --durability relaxed.',
  );
}
