import type { ContentStore } from '../content/content-store.js';
import type { CommitsAtEnd } from '../content/files/content.js';
import { StoreFailedError } from '../kv/errors.js';
import type { ServedStore } from '../kv/served-store.js';
import type { Store } from '../kv/store.js';
import { areCommitsCertain } from './certain-commits.js';
import { openContent, type ContentSettings, type OpenContent } from './open-content.js';

/** The data of a server: the key space, and the bytes of blobs that it names. */
export interface OpenData {
  readonly store: ServedStore;
  readonly content: ContentStore;
  /** The key space for users of the content. */
  readonly contentStore: Store;
  /** Other machines keep the content, and free what is not needed any more. */
  readonly isContentRemote: boolean;
  /** Why some requests cannot be served, for a while or for good; undefined when all can. */
  trouble(): Error | undefined;
  /** Rejects when the place of the content shows that no bytes can be stored there at present. */
  checkContentPlace(): Promise<void>;
  /** `listener` is called whenever `content` and `contentStore` were replaced. */
  onContentRenewed(listener: () => void): void;
  /** To be called when nothing uses the data any more. */
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
  return {
    store,
    get content() {
      return opened.content;
    },
    get contentStore() {
      return opened.store;
    },
    isContentRemote: opened.isContentRemote,
    trouble: () => store.trouble() ?? opened.trouble(),
    checkContentPlace: () => opened.checkPlace(),
    onContentRenewed: (listener) => opened.onRenewed(listener),
    // Requests that were cut off may still commit, and nothing of a session may be committed once
    // others may sweep it. The end of a lease keeps such commits out; otherwise the store has to.
    close: () => (opened.isLeased ? endFirst(opened, store) : endLast(opened, store)),
  };
}

async function endFirst(session: OpenContent, store: ServedStore): Promise<void> {
  try {
    await session.end(areCommitsCertain(store) ? 'known' : 'unknown');
  } finally {
    await store.close();
  }
}

async function endLast(session: OpenContent, store: ServedStore): Promise<void> {
  const isSound = areCommitsCertain(store);
  let isClosed = false;
  try {
    await store.close();
    // A store that has failed may be stuck in a commit.
    isClosed = !(store.trouble() instanceof StoreFailedError);
  } finally {
    await session.end(commitsAtEnd(isSound, isClosed));
  }
}

function commitsAtEnd(isSound: boolean, isClosed: boolean): CommitsAtEnd {
  if (!isClosed) return 'under-way';
  return isSound ? 'known' : 'unknown';
}
