import { join } from 'node:path';
import { CommandFailure } from '../terminal/failure.js';
import { readCollections, requireDirectory } from './data-files.js';
import type { Refuse, StoredAccounts } from './stored-data.js';
import { addQueues } from './stored-queues.js';
import { addTables } from './stored-tables.js';

/** The content of an Azurite data directory. */
export interface AzuriteData {
  readonly accounts: StoredAccounts;
  /** The number of expired messages. */
  readonly expired: number;
  /** The number of blobs, which are not supported. */
  readonly blobs: number;
}

/** Reads all data. Throws `CommandFailure` when the directory is not Azurite's. */
export async function readAzuriteData(
  folder: string,
  nowMs: number,
  refuse: Refuse,
): Promise<AzuriteData> {
  await requireDirectory(folder);
  const read = (name: string) => readCollections(join(folder, `__azurite_db_${name}__.json`));
  const [tables, queues, extents, blobs] = [
    await read('table'),
    await read('queue'),
    await read('queue_extent'),
    await read('blob'),
  ];
  if (tables === undefined && queues === undefined) {
    throw new CommandFailure(
      `${folder} has neither __azurite_db_table__.json nor __azurite_db_queue__.json. Name the ` +
        'directory that Azurite was given with --location, or in which it was started.',
    );
  }
  const accounts: StoredAccounts = new Map();
  if (tables !== undefined) addTables(accounts, tables, refuse);
  const none = new Map<string, never>();
  const source = { folder, queues: queues ?? none, extents: extents ?? none, nowMs };
  const expired = await addQueues(accounts, source, refuse);
  return { accounts, expired, blobs: blobs?.get('$BLOBS_COLLECTION$')?.length ?? 0 };
}
