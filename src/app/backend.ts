import type { ContentStore } from '../content/content-store.js';
import type { ServedStore } from '../kv/served-store.js';
import { canSnapshot } from '../kv/snapshots.js';
import type { Store } from '../kv/store.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { BlobService, type BlobServiceOptions } from '../services/blobs/blob-service.js';
import { ServicePropertiesService } from '../services/accounts/service-properties.js';
import { BlobLogs } from '../services/analytics/blob-logs.js';
import { CapacityMetrics } from '../services/analytics/capacity-metrics.js';
import { logRetention } from '../services/analytics/log-retention.js';
import type { LogSink } from '../services/analytics/log-sink.js';
import { metricsRetention } from '../services/analytics/metrics-retention.js';
import { ShapedBlobService } from '../services/paging/shaped-blob-service.js';
import { ShapedQueueService } from '../services/paging/shaped-queue-service.js';
import { ShapedTableService } from '../services/paging/shaped-table-service.js';
import { QueueService } from '../services/queues/queue-service.js';
import { TableService } from '../services/tables/table-service.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { copyStateOf } from './moves/copy-state.js';
import { moveNoteOf, moveNoteText } from './moves/move-note.js';
import { WatchedStore } from './moves/watched-store.js';
import type { OpenData } from './open-data.js';
import { openEngine, type Sharing } from './open-engine.js';
import { assertAlone, openPartitions } from './open-partitions.js';
import type { ServerSettings } from './settings.js';
import type { ReclaimStep } from './reclaimer.js';
import { seed } from './seed/seed.js';

/** Throws when the data directory cannot be opened or has another owner. */
export async function openStore(settings: ServerSettings, sharing: Sharing): Promise<ServedStore> {
  return noteTime(settings, await openStores(settings, sharing));
}

/** As `openStore`, for an owner that lets other processes join. */
export async function openSharedStore(settings: ServerSettings): Promise<ServedStore> {
  return noteTime(settings, await openStores({ ...settings, journal: 'off' }, 'exclusive'));
}

async function openStores(settings: ServerSettings, sharing: Sharing): Promise<ServedStore> {
  const { stores } = settings;
  if (stores !== undefined) {
    const partitions = await openPartitions({ ...settings, stores }, sharing);
    partitions.serve();
    return partitions;
  }
  const store = await openEngine(settings, sharing);
  await assertAlone(store, settings.storage).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return canMoveOnline(settings, sharing) && canSnapshot(store)
    ? new WatchedStore(store, settings.timers)
    : store;
}

/**
 * Whether the data may move while they are served: a client can ask for it, and no other process
 * writes to them.
 */
function canMoveOnline(
  { controlPort, storage, journal }: ServerSettings,
  sharing: Sharing,
): boolean {
  const isAlone = sharing === 'exclusive' && journal === 'on';
  return controlPort !== undefined && isAlone && storage.kind === 'directory';
}

/** Prepares a store before it is served. Closes it when it rejects. */
export async function noteTime(settings: ServerSettings, store: ServedStore): Promise<ServedStore> {
  try {
    await assertCurrent(store);
    // The clock must not be behind times that are stored already.
    settings.storageClock.atLeast(await store.lastVersion());
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Refuses an unfinished copy, and data that have moved to another location. */
async function assertCurrent(store: ServedStore): Promise<void> {
  const copy = await copyStateOf(store);
  if (copy !== undefined) {
    throw new DataDirectoryError(
      'unfinished',
      `The data are an unfinished copy of ${copy.source}. Finish it: tabularium migrate`,
    );
  }
  const moved = await moveNoteOf(store);
  if (moved !== undefined) throw new DataDirectoryError('moved', moveNoteText(moved));
}

/** Entries that one step of housekeeping deletes: a few milliseconds of work for the engine. */
const reclaimedEntriesMax = 512;

/**
 * As `reclaimedEntriesMax`, of queues. Hundreds of thousands of messages may expire together, and
 * other requests notice how many of them are deleted in a second.
 */
const reclaimedQueueEntriesMax = 192;

/** Logs that one step of housekeeping deletes. Each is a commit of its own. */
const deletedLogsMax = 16;

/** The storage services, all over one store. */
export interface Backend {
  readonly tables: TableService;
  readonly queues: QueueService;
  readonly blobs: BlobService;
  readonly properties: ServicePropertiesService;
  readonly metricsRetention: ReturnType<typeof metricsRetention>;
  readonly capacityMetrics: CapacityMetrics;
  readonly logs: LogSink;
  readonly logRetention: ReturnType<typeof logRetention>;
}

/** The key space, and the bytes of blobs that it names. */
export interface StoredData {
  readonly store: Store;
  readonly content: ContentStore;
  /** The key space for users of the content. Default: `store`. */
  readonly contentStore?: Store;
}

/** `onGarbage`, `underReadLock`: see the options of the services. */
export function backendOver(
  { store, content, contentStore = store }: StoredData,
  {
    storageClock: clock,
    randomness,
    strictness,
    timers,
    blobProtection: { versioning, immutability, containerRetentionDays, permitsPublicAccess },
  }: Pick<
    ServerSettings,
    'storageClock' | 'randomness' | 'strictness' | 'timers' | 'blobProtection'
  >,
  {
    onGarbage = () => undefined,
    underReadLock,
  }: Pick<BlobServiceOptions, 'onGarbage' | 'underReadLock'> = {},
): Backend {
  const { rules, tableDeleteDelayMs, containerDeleteDelayMs, paging } = strictness;
  const { countMax: propertiesMax } = rules.properties;
  const ofTables = { store, clock, propertiesMax, deleteDelayMs: tableDeleteDelayMs, onGarbage };
  const ofQueues = { store, clock, randomness, onGarbage };
  const tables = paging ? new ShapedTableService(ofTables, paging) : new TableService(ofTables);
  const retention = async (account: string) =>
    (await properties.get('blob', account)).deleteRetention;
  const kept = {
    retention,
    containerRetentionDays,
    containerDeleteDelayMs,
    versioning,
    immutability,
  };
  const ofBlobs = {
    ...ofQueues,
    store: contentStore,
    timers,
    content,
    permitsPublicAccess,
    ...kept,
    ...(underReadLock && { underReadLock }),
  };
  const blobs = paging ? new ShapedBlobService(ofBlobs, paging) : new BlobService(ofBlobs);
  // For logs of analytics: with versions, each line would leave one, and expired logs would stay.
  const withoutRetention = { retention: () => Promise.resolve(undefined), versioning: () => false };
  const ofLogs = new BlobService({ ...ofBlobs, ...withoutRetention });
  const logs = new BlobLogs({ store, randomness, blobs: ofLogs });
  const properties = new ServicePropertiesService(store, {
    onLogging: (account) => logs.open(account),
    onWebsite: (account) => blobs.containers.createWebsite(account),
  });
  return {
    tables,
    queues: paging ? new ShapedQueueService(ofQueues, paging) : new QueueService(ofQueues),
    blobs,
    properties,
    metricsRetention: metricsRetention({ store, clock, tables, properties }),
    capacityMetrics: new CapacityMetrics({ store, clock, tables, properties }),
    logs,
    logRetention: logRetention({ store, clock, properties, logs }),
  };
}

/** Creates the configured initial data. Throws `SeedError`. */
export async function seedBackend(
  { tables, queues, blobs }: Backend,
  { init, accounts, logger }: Pick<ServerSettings, 'init' | 'accounts' | 'logger'>,
): Promise<void> {
  const names = accounts.map(({ name }) => name);
  const counts = await seed({ tables, queues, blobs, accounts: names }, init);
  if (counts.tables + counts.queues + counts.containers > 0) logger.info('seeded', { ...counts });
}

/**
 * The housekeeping of the services. Each step holds the lock as a reader, because the data must not
 * be replaced during it. Blobs are reclaimed by the process that keeps their content.
 */
export function reclaimSteps(
  backend: Backend,
  { isContentRemote }: Pick<OpenData, 'isContentRemote'>,
  lock = new ReadWriteLock(),
): readonly ReclaimStep[] {
  const ofBlobs: ReclaimStep = {
    name: 'what blobs and containers have left',
    run: (options) => lock.read(() => backend.blobs.reclaim(options)),
    entriesMax: reclaimedEntriesMax,
  };
  return [
    {
      name: 'dropped tables',
      run: (options) => lock.read(() => backend.tables.reclaim(options)),
      entriesMax: reclaimedEntriesMax,
    },
    {
      name: 'dropped queues and expired messages',
      run: (options) => lock.read(() => backend.queues.reclaim(options)),
      entriesMax: reclaimedQueueEntriesMax,
    },
    ...(isContentRemote ? [] : [ofBlobs]),
    {
      name: 'old metrics',
      run: (options) => lock.read(() => backend.metricsRetention.step(options)),
      entriesMax: reclaimedEntriesMax,
    },
    {
      name: 'old logs of requests',
      run: (options) => lock.read(() => backend.logRetention.step(options)),
      entriesMax: deletedLogsMax,
    },
    {
      name: 'capacity metrics',
      run: () => lock.read(() => backend.capacityMetrics.step()),
      entriesMax: reclaimedEntriesMax,
    },
  ];
}
