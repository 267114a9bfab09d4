import type { AccountTables } from '../../table/account-tables.js';
import type { TableGateway } from '../../table/gateway.js';
import { tableExists } from './absent-table.js';
import { ManagerError } from './manager-errors.js';

/** Where a shard is: an account, with a table for each map. */
export interface ShardLocation {
  /** Opens a table of the account. Sends nothing. */
  readonly table: (name: string) => TableGateway;
  /** Creates tables that maps need; absent: they are made by hand. */
  readonly account?: Pick<AccountTables, 'create'>;
}

/**
 * Creates a table of a location that makes its own, and looks for it in one that does not. `where`
 * tells the location to people. Throws `ManagerError` while a table of that name is being deleted,
 * and where one that is made by hand is not there.
 */
export async function createTableOf(
  { account, table }: ShardLocation,
  name: string,
  where: string,
): Promise<void> {
  if (account === undefined) {
    if (await tableExists(table(name))) return;
    throw new ManagerError(
      `${where} has no table '${name}', and its location makes none; create it, or give the location its ` +
        'account',
    );
  }
  if ((await account.create(name)) !== 'being-deleted') return;
  throw new ManagerError(
    `the table '${name}' of ${where} is being deleted, which takes the service about a minute; ` +
      'try again then',
  );
}
