import type { ContentStore } from '../content-store.js';

/** A content store under test, and what its kind offers to disturb it. */
export interface OpenedContent {
  readonly content: ContentStore;
  /**
   * Ends the session, in order or as a crash does, and opens the same content again. Absent when
   * nothing is kept.
   */
  readonly reopen?: (end: 'closed' | 'crashed') => Promise<ContentStore>;
  /** Opens the same content beside, as another process does. Absent when there is none. */
  readonly openBeside?: () => Promise<ContentStore>;
  /** Changes one byte of what is stored of an extent. Absent when that cannot happen. */
  readonly damage?: (id: string, offset: number) => Promise<void>;
  /** Leaves room on the disk for about `bytes` further bytes. It has enough before. */
  readonly leaveRoom: (bytes: number) => void;
  /** Extents, whole or not, that take up space now. */
  readonly count: () => Promise<number>;
  /** Closes whatever is open and removes the content. */
  readonly dispose: () => Promise<void>;
}

/** A kind of content store, as the suite sees it. */
export interface ContentSuite {
  readonly name: string;
  /** Opens a new, empty store. */
  readonly open: () => Promise<OpenedContent>;
  /** How many sequences of operations are compared with a model. */
  readonly modelRuns: number;
  /** Which members `OpenedContent` has; tests that need others are not defined. */
  readonly capabilities: {
    readonly persistent: boolean;
    readonly damageable: boolean;
  };
}
