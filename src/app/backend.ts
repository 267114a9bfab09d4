import type { ServedStore } from '../kv/served-store.js';
import type { Store } from '../kv/store.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { ServicePropertiesService } from '../services/accounts/service-properties.js';
import { ShapedQueueService } from '../services/paging/shaped-queue-service.js';
import { ShapedTableService } from '../services/paging/shaped-table-service.js';
import { QueueService } from '../services/queues/queue-service.js';
import { TableService } from '../services/tables/table-service.js';
import { openEngine, type Sharing } from './open-engine.js';
import type { ServerSettings } from './settings.js';
import type { ReclaimStep } from './reclaimer.js';
import { seed } from './seed/seed.js';

/** Throws when the data directory cannot be opened or has another owner. */
export async function openStore(settings: ServerSettings, sharing: Sharing): Promise<ServedStore> {
  return noteTime(settings, await openEngine(settings, sharing));
}

/** As `openStore`, for an owner that lets other processes join. */
export async function openSharedStore(settings: ServerSettings): Promise<ServedStore> {
  return noteTime(settings, await openEngine({ ...settings, journal: 'off' }, 'exclusive'));
}

async function noteTime(settings: ServerSettings, store: ServedStore): Promise<ServedStore> {
  // The clock must not be behind times that are stored already.
  settings.storageClock.atLeast(await store.lastVersion());
  return store;
}

/** Entries that one step of housekeeping deletes: a few milliseconds of work for the engine. */
const reclaimedEntriesMax = 512;

/** The storage services, all over one store. */
export interface Backend {
  readonly tables: TableService;
  readonly queues: QueueService;
  readonly properties: ServicePropertiesService;
}

/** `onGarbage`: see the options of the services. */
export function backendOver(
  store: Store,
  {
    storageClock: clock,
    randomness,
    strictness,
  }: Pick<ServerSettings, 'storageClock' | 'randomness' | 'strictness'>,
  onGarbage: () => void = () => undefined,
): Backend {
  const { rules, tableDeleteDelayMs, paging } = strictness;
  const { countMax: propertiesMax } = rules.properties;
  const tables = { store, clock, propertiesMax, deleteDelayMs: tableDeleteDelayMs, onGarbage };
  const queues = { store, clock, randomness, onGarbage };
  return {
    tables: paging ? new ShapedTableService(tables, paging) : new TableService(tables),
    queues: paging ? new ShapedQueueService(queues, paging) : new QueueService(queues),
    properties: new ServicePropertiesService(store),
  };
}

/** Creates the configured initial data. Throws `SeedError`. */
export async function seedBackend(
  { tables, queues }: Backend,
  { init, accounts, logger }: Pick<ServerSettings, 'init' | 'accounts' | 'logger'>,
): Promise<void> {
  const counts = await seed({ tables, queues, accounts: accounts.map(({ name }) => name) }, init);
  if (counts.tables + counts.queues > 0) logger.info('seeded', { ...counts });
}

/**
 * The housekeeping of the services. Each step holds the lock as a reader, because the data must not
 * be replaced during it.
 */
export function reclaimSteps(backend: Backend, lock = new ReadWriteLock()): readonly ReclaimStep[] {
  return [
    {
      name: 'dropped tables',
      run: (options) => lock.read(() => backend.tables.reclaim(options)),
      entriesMax: reclaimedEntriesMax,
    },
    {
      name: 'dropped queues and expired messages',
      run: (options) => lock.read(() => backend.queues.reclaim(options)),
      entriesMax: reclaimedEntriesMax,
    },
  ];
}
