import { StoreDamagedError, StoreWriteError, type StoreFailedError } from '../kv/errors.js';
import type { ServedStore, StoreEvents } from '../kv/served-store.js';
import type { Store } from '../kv/store.js';
import { DiskFiles } from '../engines/journal/disk-files.js';
import { isJournaled, openJournaledStore, settleJournal } from '../engines/journal/store.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { startError } from '../engines/lmdb/disk-error.js';
import { openLmdbStore, type LmdbStore } from '../engines/lmdb/store.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { ServicePropertiesService } from '../services/accounts/service-properties.js';
import { ShapedQueueService } from '../services/paging/shaped-queue-service.js';
import { ShapedTableService } from '../services/paging/shaped-table-service.js';
import { QueueService } from '../services/queues/queue-service.js';
import { TableService } from '../services/tables/table-service.js';
import type { ServerSettings } from './settings.js';
import type { ReclaimStep } from './reclaimer.js';
import { seed } from './seed/seed.js';

/**
 * How a process uses the data directory: `exclusive` owns it, `join` works on one that another
 * process owns. In memory there is nothing to share.
 */
export type Sharing = 'exclusive' | 'join';

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

async function openEngine(settings: ServerSettings, sharing: Sharing): Promise<ServedStore> {
  const { storage, storageClock: clock, timers, randomness, durability, journal } = settings;
  if (storage.kind === 'memory') return openMemoryStore({ clock });
  const events = eventsFor(settings);
  const { directory } = storage;
  const isWithJournal = journal === 'on' && sharing === 'exclusive';
  const engine = { directory, clock, timers, durability, sharing, events };
  const base = await openLmdbStore({ ...engine, ingestsInThread: isWithJournal });
  if (sharing === 'join') return joined(base, directory);
  const files = new DiskFiles({ directory, sync: durability === 'durable' });
  const onFailed = (error: StoreFailedError) => events.failed(error);
  const options = { base, files, clock, timers, randomness, onFailed };
  try {
    if (isWithJournal) return await openJournaledStore(options);
    await settleJournal(options);
    return base;
  } catch (error) {
    await base.close();
    if (error instanceof StoreWriteError) throw startError(directory, error.cause);
    if (!(error instanceof StoreDamagedError)) throw startError(directory, error);
    throw new DataDirectoryError('damaged', error.message, { cause: error });
  }
}

/** What an owner with a journal has acknowledged is not in the base yet, nor known to others. */
async function joined(base: LmdbStore, directory: string): Promise<ServedStore> {
  if (!(await isJournaled(base))) return base;
  await base.close();
  throw new DataDirectoryError(
    'in-use',
    `The process that owns the data directory ${directory} keeps a journal, which it does not ` +
      'share. Start it without --journal on.',
  );
}

const progressMs = 1_000;

function eventsFor({
  logger,
  onFatal,
  clock,
}: Pick<ServerSettings, 'logger' | 'onFatal' | 'clock'>): StoreEvents {
  let toldMs = clock.monotonicMs();
  return {
    checking(pages, pagesMax) {
      if (clock.monotonicMs() - toldMs < progressMs) return;
      toldMs = clock.monotonicMs();
      logger.info('checking the data file', { pages, pagesMax });
    },
    failed(error) {
      logger.error('the store has failed: this process has to end', { error });
      onFatal(error);
    },
    detached: (error) => logger.error('the data are not where they were: no writes', { error }),
    exposed: (warning) => logger.warn(warning),
    waiting: (message) => logger.warn(message),
    uncheckedReaders: (error) =>
      logger.warn('processes that died may keep the data file growing: none can be looked for', {
        error,
      }),
    unreleased: (error) =>
      logger.warn('the data directory is left as after a crash: its files take no writes', {
        error,
      }),
    restored: () => logger.warn('the data are where they were again: writes are taken'),
  };
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
