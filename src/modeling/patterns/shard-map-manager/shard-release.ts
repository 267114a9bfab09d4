import { allRows } from '../../table/all-rows.js';
import { TableNotFoundError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { ownTypeProperty } from '../shard-map/fence.js';
import { unbindShard } from '../shard-map/shard-binding.js';
import { isContent } from '../shard-map/shown-rows.js';
import { ManagerError } from './manager-errors.js';

/** `kept`: rows that are left where nothing finds them again are meant to be. */
export interface ReleaseOptions {
  readonly rows?: 'kept';
}

/** Throws `ManagerError` while a table of a shard has rows of programs, unless they are kept. */
export async function requireUnused(
  table: TableGateway,
  shard: string,
  { rows }: ReleaseOptions,
): Promise<void> {
  const found = rows === 'kept' ? undefined : await firstContent(table);
  if (found === undefined) return;
  throw new ManagerError(
    `the shard '${shard}' has rows in '${table.table}', such as of '${found}', which nothing would ` +
      `find again; delete them, or say that they are kept (rows: 'kept')`,
  );
}

/** As `requireUnused`, and ends that the table is of a map. */
export async function releaseShard(
  table: TableGateway,
  shard: string,
  options: ReleaseOptions,
): Promise<void> {
  await requireUnused(table, shard, options);
  await ifThere(() => unbindShard(table));
}

/** A partition with rows of programs; undefined: there is none. */
function firstContent(table: TableGateway): Promise<string | undefined> {
  return ifThere(async () => {
    for await (const row of allRows(table, { select: [ownTypeProperty] })) {
      if (isContent(row)) return row.partitionKey;
    }
    return undefined;
  });
}

/** A shard that no map has used may be without its table. */
async function ifThere<R>(send: () => Promise<R>): Promise<R | undefined> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof TableNotFoundError) return undefined;
    throw error;
  }
}
