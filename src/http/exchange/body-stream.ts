/**
 * The body of a request whose operation takes it in pieces. It is iterated once, by `run`, and its
 * bytes are read from the connection only as pieces are asked for. A piece has at most 128 KiB,
 * and every one but the last at least 32 KiB, however the client sent it. A piece belongs to the
 * operation until it asks for the next one.
 *
 * The body is whole, and may be stored for good, only once the iteration has ended. It throws
 * `RequestBodyTooLarge` where more comes than the operation takes, `Md5Mismatch` at the end of a
 * body that is another, `ServerBusy` where memory is short, what refuses a caller who is not
 * allowed any more at its end, and `AbortedError` when the client has left or has been answered.
 */
export interface BodyStream extends AsyncIterable<Buffer> {
  /** By Content-Length; undefined when the body comes in chunks of unknown number. */
  readonly bytes: number | undefined;
  /** The operation waits for bytes of the client: time that is not its own. */
  readonly waitsForClient: boolean;
  /** Until when on the monotonic clock the client has to send the piece that is waited for. */
  readonly lateAtMs: number;
  /** The time limit that the server has for whole requests has passed, and watches no more. */
  readonly isUnwatched: boolean;
  unwatch(): void;
  /** Nothing more is taken of it. Idempotent. */
  stop(): void;
}
