/** The body of an answer that is sent while it is produced. */
export interface ReplyStream {
  /** The exact total of bytes. Undefined when it is not known; the body is then sent in chunks. */
  readonly bytes: number | undefined;
  /**
   * Iterated at most once. The first piece is requested before the header is sent, so an error
   * there becomes an error answer. Each further piece is requested when the system has taken the
   * one before. A piece has at most `replyPieceBytesMax` bytes, and is valid until then.
   */
  readonly pieces: AsyncIterable<Buffer>;
  /**
   * Called once at the end, after a failure, or when the client has left, even if no piece was
   * requested. A pending piece is dropped.
   */
  close(): void;
}

/** The longest piece of an answer; so much memory is counted for a streamed answer. */
export const replyPieceBytesMax = 256 * 1024;

/** A streamed answer in progress. */
export interface AnswerStream {
  /** The header has been sent, and the end has not. */
  readonly isUnderWay: boolean;
  /** The next piece was requested; its producer has until the deadline. */
  readonly waitsForSource: boolean;
  /** Ends the stream with an error if it is waiting. */
  fail(error: Error): void;
}
