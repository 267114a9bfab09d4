/** Bounds of the blob service (blob-service §3.5). */

/** Bytes that are kept in the store itself, beside the blob's record, instead of in a file. */
export const inlinePieceBytesMax = 32 * 1024;

/** Bytes of one block. A server may be told to take fewer. */
export const blockBytesMax = 4_000 * 1024 * 1024;
/** Blocks of a committed block list. */
export const committedBlocksMax = 50_000;
/** Blocks of a blob that wait for Put Block List. */
export const uncommittedBlocksMax = 100_000;
/** How long uncommitted blocks are kept after the last Put Block (blob-service §12.3). */
export const uncommittedSecondsMax = 7 * 24 * 60 * 60;

/** Bytes of one piece of an answer. */
export const readPieceBytesMax = 256 * 1024;

/** Segments that a record holds itself; a longer list is stored in chunks. */
export const recordSegmentsMax = 4;
/** Segments of one chunk. */
export const chunkSegmentsMax = 512;

/** Attempts of a change against concurrent changes of the same blob. */
export const attemptsMax = 100;

/** Bytes of one entry of a page map, and of one Put Page (blob-service §14). */
export const pageRangeBytesMax = 4 * 1024 * 1024;
/** Bytes of a page blob: 8 TiB (blob-service §14). */
export const pageBlobBytesMax = 8 * 1024 ** 4;
/**
 * Ranges of a page map that one commit overwrites. At least those of one Put Page: it overlaps as
 * many as it has pages, and one more.
 */
export const pageRangesPerCommitMax = 10_000;
/** Blocks that are appended to one blob (blob-service §13). */
export const appendedBlocksMax = 50_000;
/** Ranges of one answer of Get Page Ranges. */
export const pageListRangesMax = 10_000;
/** Ranges of a page blob that is copied from another server. */
export const foreignPageRangesMax = 100_000;
/** Ranges of a page map that one commit copies to another blob; more take several commits. */
export const copiedRangesPerCommitMax = 5_000;
/** Bytes of inline pieces that a copy puts into the store; further ones become extents. */
export const copiedInlineBytesMax = 4 * 1024 * 1024;

/** Copies of foreign blobs that one process carries out at a time; further ones wait. */
export const copiesAtOnceMax = 16;
/** Copies of foreign blobs that one process has pending; more are refused. */
export const pendingCopiesMax = 1_000;
/** A pending copy that has not shown progress for this time counts as dead. */
export const pendingSecondsMax = 60;
