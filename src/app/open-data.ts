import type { ContentStore } from '../content/content-store.js';
import type { ServedStore } from '../kv/served-store.js';
import { openContent, type ContentSettings } from './open-content.js';

/** What a server works on: the key space, and the bytes of blobs that it names. */
export interface OpenData {
  readonly store: ServedStore;
  readonly content: ContentStore;
  /** Another machine keeps the content, and frees what is not needed any more. */
  readonly isContentElsewhere: boolean;
  /** Nothing may work on it any more. */
  close(): Promise<void>;
}

/** Opens the content beside a store that `open` opens. Nothing stays open when it rejects. */
export async function openData(
  settings: ContentSettings,
  open: () => Promise<ServedStore>,
): Promise<OpenData> {
  const store = await open();
  const opened = await openContent(settings, store).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    try {
      await opened.end(store.trouble() === undefined);
    } finally {
      await store.close();
    }
  };
  const { content, isElsewhere: isContentElsewhere } = opened;
  return { store, content, isContentElsewhere, close };
}
