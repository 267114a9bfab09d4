import { DatabaseError } from './database-error.js';
import type { Link } from './link.js';
import { bytesOf } from './rows.js';

/** The oldest release that has all of what is used. */
const versionMin = 150_000;

const settings = {
  name: 'settings',
  text: `select current_setting('server_version_num'), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('synchronous_commit')`,
};

/** Throws `DatabaseError` when commits would not be durable. */
export async function assertServerSettings(
  link: Link,
  durability: 'durable' | 'relaxed',
): Promise<void> {
  const [row = []] = await link.query(settings, []);
  const [version = '', fsync, fullPageWrites, synchronousCommit] = row.map((field) =>
    bytesOf(field).toString(),
  );
  if (Number(version) < versionMin) {
    throw new DatabaseError(
      `The database is of version ${Number(version) / 10_000}: PostgreSQL 15 or newer is needed.`,
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
