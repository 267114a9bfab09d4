import { TableNotFoundError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { ownerOfShard } from '../shard-map/shard-binding.js';

/** What a request gives; undefined where there is no such table. */
export async function ifTableExists<R>(send: () => Promise<R>): Promise<R | undefined> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof TableNotFoundError) return undefined;
    throw error;
  }
}

/** One point read. */
export async function tableExists(table: TableGateway): Promise<boolean> {
  const found = await ifTableExists(async () => ({ owner: await ownerOfShard(table) }));
  return found !== undefined;
}
