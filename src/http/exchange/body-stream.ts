import type { Crc64 } from '../../wire/checksum/crc64.js';

/**
 * The body of a request whose operation consumes it in pieces. `run` iterates it once; bytes are
 * read from the connection on demand. A piece has at most 128 KiB, and every one but the last at
 * least 32 KiB, however the client sent it. A piece is valid until the next one is requested.
 *
 * The body is complete, and may be committed, only when the iteration has ended. The iteration
 * throws `RequestBodyTooLarge` when the body exceeds the operation's limit, `Md5Mismatch` at the
 * end of a corrupt body, `ServerBusy` when memory is short, the refusal of a caller who is no
 * longer authorised at the end, and `AbortedError` when the client has left or was answered.
 */
export interface BodyStream extends AsyncIterable<Buffer> {
  /** From Content-Length; undefined for a chunked body. */
  readonly bytes: number | undefined;
  /**
   * The sum of the bytes that were handed out, where the request claims a CRC-64; to be read only.
   */
  readonly crc64: Crc64 | undefined;
  /** The operation waits for bytes from the client; that time is not charged to the operation. */
  readonly waitsForClient: boolean;
  /** The deadline of the client for the awaited piece, on the monotonic clock. */
  readonly lateAtMs: number;
  /** The time limit for whole requests has passed and is no longer checked. */
  readonly isUnwatched: boolean;
  unwatch(): void;
  /** Stops reading. Idempotent. */
  stop(): void;
}
