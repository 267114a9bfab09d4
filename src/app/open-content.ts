import type { ContentStore } from '../content/content-store.js';
import { ContentPlaceError } from '../content/errors.js';
import { openFileContent } from '../content/files/content.js';
import { openMemoryContent } from '../content/memory/content.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { startError } from '../engines/lmdb/disk-error.js';
import type { ServerSettings } from './settings.js';

/** The bytes of blobs, beside a store. */
export interface OpenContent {
  readonly content: ContentStore;
  /**
   * Ends the session of this process. `isSound`: the store has no trouble, so everything that was
   * stored is named or was freed.
   */
  end(isSound: boolean): Promise<void>;
}

export type ContentSettings = Pick<ServerSettings, 'storage' | 'clock' | 'randomness'>;

/**
 * Opens the content of a store that is open. Each process that works on a data directory opens its
 * own. Throws `DataDirectoryError`.
 */
export async function openContent(settings: ContentSettings): Promise<OpenContent> {
  const { storage, clock, randomness } = settings;
  if (storage.kind === 'memory') {
    const content = openMemoryContent();
    return { content, end: () => content.close() };
  }
  const { directory } = storage;
  try {
    const content = await openFileContent({ directory, clock, randomness });
    return { content, end: (isSound) => (isSound ? content.close() : content.abandon()) };
  } catch (error) {
    if (error instanceof ContentPlaceError) {
      throw new DataDirectoryError('foreign', error.message, { cause: error });
    }
    throw startError(directory, error);
  }
}
