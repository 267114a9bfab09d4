/** The body of an answer that is sent while it is made. */
export interface ReplyStream {
  /**
   * How long it is: the pieces must have exactly so many bytes. Undefined where that is not known;
   * then it goes in chunks.
   */
  readonly bytes: number | undefined;
  /**
   * Iterated once at most. The first piece is asked for before the header is sent, so what fails
   * there is answered as an error. Each other piece is asked for when the client has taken so much
   * that there is room for it. A piece has at most `replyPieceBytesMax` bytes.
   */
  readonly pieces: AsyncIterable<Buffer>;
  /**
   * Called once when nothing more is wanted: at the end, when something failed, when the client has
   * left, also if no piece was asked for. A piece that is still waited for is dropped.
   */
  close(): void;
}

/** The longest piece of an answer: what it holds of the memory for bodies and answers. */
export const replyPieceBytesMax = 256 * 1024;

/** What the server sees of an answer on its way. */
export interface AnswerStream {
  /** Its header has been sent, and its end has not. */
  readonly isUnderWay: boolean;
  /** The next piece has been asked for, and what makes it has until the deadline. */
  readonly waitsForSource: boolean;
  /** Ends it with an error, if it waits for anything. */
  fail(error: Error): void;
}
