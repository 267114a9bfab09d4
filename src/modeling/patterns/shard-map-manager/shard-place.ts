import type { AccountTables } from '../../table/account-tables.js';
import type { TableGateway } from '../../table/gateway.js';
import { ManagerError } from './manager-errors.js';

/** Where a shard is: an account, with a table for each map. */
export interface ShardPlace {
  /** Opens a table of the account. Sends nothing. */
  readonly table: (name: string) => TableGateway;
  /** Creates tables that maps need; absent: they are made by hand. */
  readonly account?: Pick<AccountTables, 'create'>;
}

/**
 * Creates a table of a place that makes its own. Throws `ManagerError` while one of that name is
 * being deleted.
 */
export async function createTableOf({ account }: ShardPlace, table: string): Promise<void> {
  if ((await account?.create(table)) !== 'being-deleted') return;
  throw new ManagerError(
    `the table '${table}' is being deleted, which takes the service about a minute; try again then`,
  );
}
