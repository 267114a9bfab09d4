import { ExtentMissingError } from '../../content/errors.js';
import { overtaken, untilCommitted } from '../containers/until-committed.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import { ContentGoneError } from './contents.js';
import { withCopiedContent, type CopiedContent } from './copied-content.js';
import type { BlobKeys } from './keys.js';
import { attemptsMax } from './limits.js';

/**
 * Copies from a container, and repeats that until nothing that was read has changed meanwhile. The
 * content that an attempt reads stays until the attempt is done. Throws `ServerBusy` when every
 * attempt is overtaken.
 */
export async function copiedUnchanged<Copied>(
  { readers }: Pick<BlobContext, 'readers'>,
  from: BlobKeys,
  attempt: () => Promise<Copied | typeof overtaken>,
): Promise<Copied> {
  const close = readers.begin(from);
  try {
    return await untilCommitted(attemptsMax, attempt);
  } finally {
    close();
  }
}

/** An attempt to copy a blob inside of the server. */
export interface CopyAttempt {
  readonly from: BlobKeys;
  readonly to: BlobKeys;
  /** That of the source, as it was read. */
  readonly record: BlobRecord;
  /** That of the target (`containerCheck`). */
  readonly checkContainer: () => Promise<void>;
  /** Called when a piece was copied. */
  readonly onPiece?: (() => void) | undefined;
}

/**
 * Copies the content, and hands it to `use`, whose commit refers to it (`putCopied`). Is overtaken
 * when the content was freed meanwhile, and when `use` throws `ContentGoneError`.
 */
export async function attemptCopy<Copied>(
  context: BlobContext,
  attempt: CopyAttempt,
  use: (content: CopiedContent) => Promise<Copied>,
): Promise<Copied | typeof overtaken> {
  try {
    return await withCopiedContent(context, attempt, async (content) => {
      await attempt.checkContainer();
      return use(content);
    });
  } catch (error) {
    if (error instanceof ContentGoneError || error instanceof ExtentMissingError) return overtaken;
    throw error;
  }
}
