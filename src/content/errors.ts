/** A call after `close`. */
export class ContentClosedError extends Error {
  override readonly name = 'ContentClosedError';

  constructor() {
    super('The content store is closed.');
  }
}

/**
 * Bytes could not be written or deleted. Of a `put` or `link` nothing was stored and nothing
 * remains; a `free` may have deleted some of its extents, and may be repeated. The store goes on
 * serving. `cause` says why.
 */
export class ContentWriteError extends Error {
  override readonly name = 'ContentWriteError';
  /** There is no room: the same call may succeed when something was freed. */
  readonly isFull: boolean;

  constructor(message: string, options: { readonly isFull: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.isFull = options.isFull;
  }
}

/**
 * The file of this process's session, which lives by a lease, is gone: the others have taken the
 * session for dead, or somebody has removed the file. So what it stores now may be swept. The
 * process begins another session, in which the same call may succeed. Nothing was stored and
 * nothing remains.
 */
export class ContentSessionLostError extends Error {
  override readonly name = 'ContentSessionLostError';

  constructor() {
    super('The others have taken this process for dead: they may delete what it stores now.');
  }
}

/** There is no extent of this id: it was freed, or never stored. */
export class ExtentMissingError extends Error {
  override readonly name = 'ExtentMissingError';
  readonly extent: string;

  constructor(extent: string) {
    super(`There is no extent ${extent}.`);
    this.extent = extent;
  }
}

/**
 * `damaged`: bytes are not those that were written. `truncated`: it does not end as it was written.
 * `unreadable`: the disk says that it cannot read.
 */
export type ContentProblem = 'damaged' | 'truncated' | 'unreadable';

const problems: Readonly<Record<ContentProblem, string>> = {
  damaged: 'has bytes that are not those that were written',
  truncated: 'does not end as it was written',
  unreadable: 'cannot be read from the disk',
};

/**
 * The stored bytes of an extent are not those that were written. Bytes before `offset` may still be
 * read, and mostly those after the damaged block as well.
 */
export class ContentDamagedError extends Error {
  override readonly name = 'ContentDamagedError';
  readonly extent: string;
  /** Where the damaged block begins, in bytes of the extent; 0 when no byte can be trusted. */
  readonly offset: number;
  readonly problem: ContentProblem;

  constructor(extent: string, offset: number, problem: ContentProblem) {
    super(`The extent ${extent} ${problems[problem]} (at byte ${offset}).`);
    this.extent = extent;
    this.offset = offset;
    this.problem = problem;
  }
}

/** The place where content is to be kept holds something else. The message is for people. */
export class ContentLocationError extends Error {
  override readonly name = 'ContentLocationError';
}

/** Another machine keeps the content. Nothing of the call was done. */
export class ContentUnreachableError extends Error {
  override readonly name = 'ContentUnreachableError';

  constructor(place: string) {
    super(`The bytes of large blobs are kept by ${place}: ask a server there.`);
  }
}
