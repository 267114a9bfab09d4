import { hostname } from 'node:os';
import { realpath } from 'node:fs/promises';
import { makeDirectory } from '../base/make-directory.js';
import { privateDirectoryMode } from '../base/private-files.js';
import { invariant, unreachable } from '../base/invariant.js';
import type { ContentStore } from '../content/content-store.js';
import { unreachableContent } from '../content/unreachable-content.js';
import { ContentLocationError } from '../content/errors.js';
import { openFileContent, type CommitsAtEnd, type FileContent } from '../content/files/content.js';
import { contentDirectory } from '../content/files/content-directory.js';
import type { ContentFiles } from '../content/files/content-files.js';
import { heldSessions, releaseHeld } from '../content/files/sessions.js';
import { openMemoryContent } from '../content/memory/content.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { startError } from '../engines/lmdb/disk-error.js';
import type { Logger } from '../http/exchange/logger.js';
import { canBeMember } from '../kv/member-store.js';
import type { ServedStore } from '../kv/served-store.js';
import type { Store } from '../kv/store.js';
import { areCommitsCertain, refusesLoss } from './certain-commits.js';
import type { PostgresChoice, ServerSettings } from './settings.js';
import { assertContentThere } from './missing-content.js';
import { homeOf } from './open-partitions.js';
import { closeContent } from './shared-content/close-content.js';
import { locationOfContent } from './shared-content/content-location.js';
import { SharedContent } from './shared-content/shared-content.js';

/** The bytes of blobs, beside a store. */
export interface OpenContent {
  readonly content: ContentStore;
  /** The key space for users of the content. */
  readonly store: Store;
  /** Ends the session of this process. */
  end(commits: CommitsAtEnd): Promise<void>;
  /** The session lives by a lease in the store, which must be open when the session ends. */
  readonly isLeased: boolean;
  /** Other machines keep the content, and free what is not needed any more. */
  readonly isContentRemote: boolean;
  /**
   * Why bytes cannot be stored at present, in addition to the trouble of the store; undefined when
   * they can.
   */
  trouble(): Error | undefined;
  /** Rejects when the place of the bytes shows that none can be stored there at present. */
  checkPlace(): Promise<void>;
  /** `listener` is called whenever `content` and `store` were replaced. */
  onRenewed(listener: () => void): void;
}

export type ContentSettings = Pick<
  ServerSettings,
  'storage' | 'clock' | 'randomness' | 'logger' | 'timers'
>;

/**
 * Opens the content of a store that is open. Each process that works on it opens its own. Throws
 * `DataDirectoryError`.
 */
export async function openContent(
  settings: ContentSettings,
  store: ServedStore,
): Promise<OpenContent> {
  const { storage, clock, timers, randomness, logger } = settings;
  if (storage.kind === 'memory') {
    const content = openMemoryContent({ timers });
    return lasting({ content, store, end: () => content.close() });
  }
  const { directory } = storage;
  try {
    if (storage.kind === 'postgres') return await openShared(settings, store, storage);
    await assertContentThere(directory, homeOf(store));
    const content = await openFileContent({ directory, clock, timers, randomness });
    return {
      ...lasting({ content, store, end: (commits) => endSession(content, commits, logger) }),
      checkPlace: () => content.checkPlace(),
    };
  } catch (error) {
    if (error instanceof ContentLocationError) {
      throw new DataDirectoryError('foreign', error.message, { cause: error });
    }
    throw startError(directory, error);
  }
}

async function openShared(
  settings: ContentSettings,
  store: ServedStore,
  { directory, onLostCommits }: PostgresChoice,
): Promise<OpenContent> {
  const { clock, timers, randomness, logger } = settings;
  const keySpace = store;
  const home = homeOf(store);
  invariant(canBeMember(home), 'a store that several machines share knows guards');
  makeDirectory(directory, privateDirectoryMode);
  const { files } = await contentDirectory(directory);
  const shown = `${hostname()} in ${await realpath(directory)}`;
  const location = await locationOfContent(home, { files, shown, randomness });
  if (location !== undefined) {
    logger.warn('the bytes of large blobs are elsewhere: requests for them fail here', {
      location,
    });
    const content = unreachableContent(location);
    return lasting({ content, store, end: () => content.close() }, true);
  }
  const isCertain = () => areCommitsCertain(store);
  const held = { refusesLoss: () => refusesLoss(store) };
  const shared = { store: home, keySpace, isCertain, ...held, files, shown };
  await settleHeld(files, onLostCommits, logger);
  return SharedContent.open({ ...shared, clock, timers, randomness, logger });
}

/**
 * A start that accepts lost commits is the decision of a person that the bytes which they had named
 * are not needed, or are named again.
 */
async function settleHeld(
  files: ContentFiles,
  onLostCommits: 'refuse' | 'accept',
  logger: Logger,
): Promise<void> {
  const sessions = (await heldSessions(files)).length;
  if (sessions === 0) return;
  switch (onLostCommits) {
    case 'accept':
      await releaseHeld(files);
      logger.info('bytes of blobs were kept for lost commits: sweeps free those not named', {
        sessions,
      });
      return;
    case 'refuse':
      logger.warn(
        'bytes of blobs are kept for lost commits: start once with --on-lost-commits accept when ' +
          'these are restored or not needed',
        { sessions },
      );
      return;
    default:
      unreachable(onLostCommits);
  }
}

function endSession(content: FileContent, commits: CommitsAtEnd, logger: Logger): Promise<void> {
  switch (commits) {
    case 'known':
      return closeContent(content, logger);
    case 'unknown':
      return content.abandon();
    case 'under-way':
      return content.abandonWithProcess();
    default:
      return unreachable(commits);
  }
}

/** Content that stays the same while the server runs. */
function lasting(
  opened: Pick<OpenContent, 'content' | 'store' | 'end'>,
  isContentRemote = false,
): OpenContent {
  return {
    ...opened,
    isLeased: false,
    isContentRemote,
    trouble: () => undefined,
    checkPlace: () => Promise.resolve(),
    onRenewed: () => undefined,
  };
}
