import { hostname } from 'node:os';
import type { ContentStore } from '../content/content-store.js';
import { contentElsewhere } from '../content/elsewhere/content.js';
import { ContentPlaceError } from '../content/errors.js';
import { openFileContent } from '../content/files/content.js';
import { openMemoryContent } from '../content/memory/content.js';
import { DataDirectoryError } from '../engines/lmdb/directory/data-directory-error.js';
import { startError } from '../engines/lmdb/disk-error.js';
import type { Store } from '../kv/store.js';
import { placeOfContent } from './content-place.js';
import type { ServerSettings } from './settings.js';

/** The bytes of blobs, beside a store. */
export interface OpenContent {
  readonly content: ContentStore;
  /**
   * Ends the session of this process. `isSound`: the store has no trouble, so everything that was
   * stored is named or was freed.
   */
  end(isSound: boolean): Promise<void>;
  /** Another machine keeps it, and frees what is not needed any more. */
  readonly isElsewhere: boolean;
}

export type ContentSettings = Pick<ServerSettings, 'storage' | 'clock' | 'randomness' | 'logger'>;

/**
 * Opens the content of a store that is open. Each process that works on a data directory opens its
 * own. Throws `DataDirectoryError`.
 */
export async function openContent(settings: ContentSettings, store: Store): Promise<OpenContent> {
  const { storage, clock, randomness, logger } = settings;
  if (storage.kind === 'memory') {
    const content = openMemoryContent();
    return { content, end: () => content.close(), isElsewhere: false };
  }
  const { directory } = storage;
  if (storage.kind === 'postgres') {
    const place = await placeOfContent(store, { machine: hostname(), directory });
    if (place !== undefined) {
      const text = 'another machine keeps the bytes of large blobs: requests for them fail here';
      logger.warn(text, { place });
      const content = contentElsewhere(place);
      return { content, end: () => content.close(), isElsewhere: true };
    }
  }
  try {
    const content = await openFileContent({ directory, clock, randomness });
    const end = (isSound: boolean) => (isSound ? content.close() : content.abandon());
    return { content, end, isElsewhere: false };
  } catch (error) {
    if (error instanceof ContentPlaceError) {
      throw new DataDirectoryError('foreign', error.message, { cause: error });
    }
    throw startError(directory, error);
  }
}
