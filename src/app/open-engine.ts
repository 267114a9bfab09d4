import type { Clock } from '../base/clock.js';
import {
  CommitUnknownError,
  StoreDamagedError,
  StoreFailedError,
  StoreWriteError,
} from '../kv/errors.js';
import type { ServedStore, StoreEvents } from '../kv/served-store.js';
import { DiskFiles } from '../engines/journal/disk-files.js';
import { isJournaled, settleJournal } from '../engines/journal/settle.js';
import { openJournaledStore, type JournaledStoreOptions } from '../engines/journal/store.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { startError } from '../engines/lmdb/disk-error.js';
import { openLmdbStore, type LmdbStore, type LmdbStoreOptions } from '../engines/lmdb/store.js';
import { openMemoryStore } from '../engines/memory/store.js';
import type { PostgresChoice, ServerSettings } from './settings.js';

/**
 * How a process uses the data directory: `exclusive` owns it, `join` works on one that another
 * process owns. In memory there is nothing to share. Several processes use a database either way;
 * `join` makes no tables in it.
 */
export type Sharing = 'exclusive' | 'join';

/** The settings that concern the engine. */
export type EngineSettings = Pick<
  ServerSettings,
  | 'clock'
  | 'durability'
  | 'journal'
  | 'logger'
  | 'onFatal'
  | 'randomness'
  | 'storage'
  | 'storageClock'
  | 'timers'
>;

/** Throws when the data directory cannot be opened or has another owner. */
export async function openEngine(settings: EngineSettings, sharing: Sharing): Promise<ServedStore> {
  const {
    storage,
    storageClock: clock,
    timers,
    randomness,
    durability,
    journal,
    logger,
  } = settings;
  if (storage.kind === 'memory') return openMemoryStore({ clock });
  if (storage.kind === 'postgres') return openPostgres(settings, storage, sharing);
  const events = eventsFor(settings);
  const { directory } = storage;
  const engine = { directory, clock, timers, events };
  if (sharing === 'join') {
    return joined(await openLmdbStore({ ...engine, durability, sharing }), directory);
  }
  const files = new DiskFiles({ directory, sync: true });
  const onFailed = (error: StoreFailedError) => events.failed(error);
  const onTrouble = (error: Error | undefined) => {
    if (error === undefined) logger.warn('the data file can be written again');
    else logger.error('the data file cannot be written: commits stay in the journal', { error });
  };
  const onUnremoved = (error: Error) =>
    logger.warn('old files of the journal cannot be removed: they only take space', { error });
  const onUnclosed = (error: Error) =>
    logger.warn('a file of the journal could not be closed: the end of the process closes it', {
      error,
    });
  const isDue = everySecond(settings.clock);
  const onRead = (read: number, openings: number) => {
    if (isDue()) logger.info('reading the journal', { files: read, openings });
  };
  const calls = { onFailed, onTrouble, onUnremoved, onUnclosed, onRead };
  const openOver = async <Opened>(
    lmdb: Pick<LmdbStoreOptions, 'durability' | 'ingestsInThread'>,
    open: (options: JournaledStoreOptions & { readonly base: LmdbStore }) => Promise<Opened>,
  ): Promise<Opened> => {
    const base = await openLmdbStore({ ...engine, ...lmdb });
    try {
      return await open({ base, files, clock, timers, randomness, ...calls });
    } catch (error) {
      await base.close();
      throw engineError(directory, error);
    }
  };
  if (journal === 'on') return openOver({ ingestsInThread: 'large' }, openJournaledStore);
  // Entries of the journal were durable, so the data file must have them durably before the journal
  // is removed.
  if (durability === 'relaxed' && (await files.isPresent())) {
    await openOver({}, async (options) => {
      await settleJournal(options);
      await options.base.close();
    });
  }
  return openOver({ durability }, async (options) => {
    await settleJournal(options);
    return options.base;
  });
}

/** The engine and its database driver are loaded only when the settings name them. */
async function openPostgres(
  { storageClock: clock, timers, randomness, durability, logger }: EngineSettings,
  { url, schema, onLostCommits, commitForm, replicas }: PostgresChoice,
  sharing: Sharing,
): Promise<ServedStore> {
  const { openPostgresStore } = await import('../engines/postgres/store.js');
  return openPostgresStore({
    url,
    schema,
    creates: sharing === 'exclusive',
    onLostCommits,
    commitForm,
    beats: replicas !== undefined,
    clock,
    timers,
    randomness,
    durability,
    events: {
      trouble: (error) => {
        if (error === undefined) logger.warn('the database takes writes again');
        else logger.error('the database cannot be reached', { error });
      },
      lostCommits: (error, loss) =>
        logger.error('acknowledged commits are lost', { error, ...loss }),
      noHeartbeat: (error) =>
        logger.warn('the database refuses heartbeats, so standbys seem to be behind', { error }),
      noSweep: (error) =>
        logger.warn('the database refuses to remove what connections have left', { error }),
    },
  });
}

/** The error to report when an engine cannot be opened. */
function engineError(directory: string, error: unknown): unknown {
  if (error instanceof StoreDamagedError) {
    return new DataDirectoryError('damaged', error.message, { cause: error });
  }
  const found = startError(directory, ofDisk(error));
  return found instanceof DataDirectoryError ? found : error;
}

/** The error of the disk that caused an error of an engine. */
function ofDisk(error: unknown): unknown {
  const isOfEngine =
    error instanceof StoreWriteError ||
    error instanceof StoreFailedError ||
    error instanceof CommitUnknownError;
  return isOfEngine && error.cause !== undefined ? ofDisk(error.cause) : error;
}

/**
 * Refuses to join when the owner has a journal: commits that it has acknowledged may not be in the
 * data file yet.
 */
async function joined(base: LmdbStore, directory: string): Promise<ServedStore> {
  if (!(await isJournaled(base))) return base;
  await base.close();
  throw new DataDirectoryError(
    'in-use',
    `The process that owns the data directory ${directory} keeps a journal, which it does not ` +
      'share. Start it with --workers, or with --journal off.',
  );
}

const progressMs = 1_000;

/** Whether to report progress now: true once a second, except in the first second. */
function everySecond(clock: Pick<Clock, 'monotonicMs'>): () => boolean {
  let toldMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - toldMs < progressMs) return false;
    toldMs = clock.monotonicMs();
    return true;
  };
}

function eventsFor({
  logger,
  onFatal,
  clock,
}: Pick<ServerSettings, 'logger' | 'onFatal' | 'clock'>): StoreEvents {
  const isDue = everySecond(clock);
  return {
    checking(pages, pagesMax) {
      if (isDue()) logger.info('checking the data file', { pages, pagesMax });
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
    unread: (error) => logger.warn('the data file cannot be read ahead', { error }),
    unreleased: (error) =>
      logger.warn('the data directory is left as after a crash: its files take no writes', {
        error,
      }),
    restored: () => logger.warn('the data are where they were again: writes are taken'),
  };
}
