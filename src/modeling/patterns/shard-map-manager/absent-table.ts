import { ifTableExists } from '../../table/if-table-exists.js';
import type { TableGateway } from '../../table/gateway.js';
import { ownerOfShard } from '../shard-map/shard-binding.js';

/** One point read. */
export async function tableExists(table: TableGateway): Promise<boolean> {
  const found = await ifTableExists(async () => ({ owner: await ownerOfShard(table) }));
  return found !== undefined;
}
