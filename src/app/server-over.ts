import type { ServedStore } from '../kv/served-store.js';
import { noteTime } from './backend.js';
import { wrongOption } from './options/server-options-error.js';
import type { ServerOptions } from './options/table.js';
import { startServer, type TabulariumServer } from './server.js';
import type { ServerSettings } from './settings.js';

/**
 * As `createServer`, over a store that the program has opened, such as one of an engine of its own:
 * it has entities, messages and blobs. `location` or `inMemory` says where the bytes of large blobs
 * are. Only one server at a time may work on the store when blobs are used. The server closes the
 * store, also when it does not start.
 */
export async function createServerOver(
  store: ServedStore,
  options: ServerOptions,
): Promise<TabulariumServer> {
  try {
    return await startServer(options, 'exclusive', (settings) => openGiven(settings, store));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * A store that the program has opened. Throws `ServerOptionsError` for options that name another.
 */
async function openGiven(settings: ServerSettings, store: ServedStore): Promise<ServedStore> {
  const others = { stores: settings.stores, postgresUrl: databaseOf(settings) };
  for (const [name, other] of Object.entries(others)) {
    if (other === undefined) continue;
    throw wrongOption([name], 'names a store, and the program gives one: leave it out');
  }
  return noteTime(settings, store);
}

function databaseOf({ storage }: ServerSettings): string | undefined {
  return storage.kind === 'postgres' ? storage.url : undefined;
}
