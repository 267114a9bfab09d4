import type { AccountTables } from '../../table/account-tables.js';
import type { TableGateway } from '../../table/gateway.js';

/** Where a shard is: an account, with a table for each map. */
export interface ShardPlace {
  /** Opens a table of the account. Sends nothing. */
  readonly table: (name: string) => TableGateway;
  /** Creates tables that maps need; absent: they are made by hand. */
  readonly account?: Pick<AccountTables, 'create'>;
}
