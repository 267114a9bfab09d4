import { crc32 } from 'node:zlib';
import { codeOf } from '../../base/thrown.js';
import { contentPieceBytesMax, type ExtentId, type ExtentReader } from '../content-store.js';
import { ContentDamagedError, ExtentMissingError } from '../errors.js';
import type { ContentFiles, StoredFile } from './content-files.js';
import {
  blockBytes,
  blockSeed,
  blocksOf,
  checksumBytes,
  decodeFoot,
  fileBytesOf,
  footBytes,
  isOf,
  type ExtentFoot,
} from './extent-format.js';
import { fileOf, idOf, type ExtentPlace } from './extent-place.js';

/** Files up to this size are read completely and closed. */
const wholeBytes = 128 * 1024;
/** The checksums that are read at a time: those of 64 MiB. */
const windowChecksums = 1024;

/** Opens an extent, and refuses one whose length is not certain. */
export async function openExtent(files: ContentFiles, place: ExtentPlace): Promise<OpenExtent> {
  const id = idOf(place);
  const file = await opened(files, place);
  try {
    const end = Math.min(file.bytes, endBytes(file.bytes));
    const start = file.bytes - end;
    const tail = await orDamaged(id, 0, file.read(start, end));
    const foot = decodeFoot(tail);
    if (foot === undefined || tail.length < end || fileBytesOf(foot) !== file.bytes) {
      throw new ContentDamagedError(id, 0, 'truncated');
    }
    // The foot names the extent that was written, which is another one only for a link.
    if (!place.isLink && !isOf(foot, place)) throw new ContentDamagedError(id, 0, 'damaged');
    if (start > 0) return new OpenExtent(id, file, foot, { start, bytes: tail });
    // All of the file was read, so its end need not be awaited.
    void file.close().catch(() => undefined);
    return new OpenExtent(id, inMemory(tail), foot, { start, bytes: tail });
  } catch (error) {
    await file.close();
    throw error;
  }
}

function endBytes(bytes: number): number {
  return bytes <= wholeBytes ? wholeBytes : windowChecksums * checksumBytes + footBytes;
}

async function opened(files: ContentFiles, place: ExtentPlace): Promise<StoredFile> {
  try {
    return await files.open(fileOf(place));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new ExtentMissingError(idOf(place));
    throw error;
  }
}

function inMemory(content: Buffer): StoredFile {
  return {
    bytes: content.length,
    read: (position, bytes) => Promise.resolve(content.subarray(position, position + bytes)),
    close: () => Promise.resolve(),
  };
}

/** A part of a file in memory. */
interface Window {
  readonly start: number;
  readonly bytes: Buffer;
}

/** Blocks that were read, but not verified yet. */
interface Fetched {
  readonly firstBlock: number;
  /** The index after the last block. */
  readonly lastBlock: number;
  readonly bytes: Buffer;
  /** The expected length of `bytes`. */
  readonly wanted: number;
  /** The range that was asked for, within the blocks. */
  readonly start: number;
  readonly end: number;
}

/**
 * Two buffers in turn: a piece is read into one while the caller uses the other. New memory for
 * every piece would cost more than reading it.
 */
class PieceBuffers {
  #spare: Buffer | undefined;
  #last: Buffer | undefined;

  /** A buffer for the next piece: that of the piece before the last, if it is large enough. */
  next(bytes: number): Buffer {
    const spare = this.#spare;
    const memory =
      spare === undefined || spare.length < bytes ? Buffer.allocUnsafeSlow(bytes) : spare;
    this.#spare = this.#last;
    this.#last = memory;
    return memory;
  }
}

/** An open extent, whose bytes are verified. The caller closes it. */
export class OpenExtent {
  readonly bytes: number;
  readonly #id: ExtentId;
  readonly #file: StoredFile;
  readonly #foot: ExtentFoot;
  readonly #tableAt: number;
  readonly #isInMemory: boolean;
  #window: Window;

  constructor(id: ExtentId, file: StoredFile, foot: ExtentFoot, window: Window) {
    this.bytes = foot.bytes;
    this.#id = id;
    this.#file = file;
    this.#foot = foot;
    this.#tableAt = foot.headBytes + foot.bytes;
    this.#isInMemory = window.start === 0;
    this.#window = window;
  }

  /**
   * Reads the blocks with the bytes from `start` to the end of its piece or to `end`: pieces begin
   * at multiples of `contentPieceBytesMax`. The result must be verified before it is used. Bytes
   * that are not in memory yet are read into a buffer from `memories`.
   */
  async fetch(start: number, end: number, memories: PieceBuffers): Promise<Fetched> {
    const pieceEnd = Math.floor(start / contentPieceBytesMax + 1) * contentPieceBytesMax;
    const last = Math.min(end, pieceEnd);
    const firstBlock = Math.floor(start / blockBytes);
    const lastBlock = blocksOf(last);
    const at = firstBlock * blockBytes;
    const wanted = Math.min(lastBlock * blockBytes, this.bytes) - at;
    const memory = this.#isInMemory ? undefined : memories.next(wanted);
    const reading = this.#file.read(this.#foot.headBytes + at, wanted, memory);
    const bytes = await orDamaged(this.#id, at, reading);
    return { firstBlock, lastBlock, bytes, wanted, start: start - at, end: last - at };
  }

  /** The bytes that were asked for. Throws `ContentDamagedError`. */
  async verify({ firstBlock, lastBlock, bytes, wanted, start, end }: Fetched): Promise<Buffer> {
    const { salt } = this.#foot;
    for (let block = firstBlock; block < lastBlock; block += 1) {
      const at = (block - firstBlock) * blockBytes;
      const found = crc32(bytes.subarray(at, at + blockBytes), blockSeed(salt, block));
      const expected = this.#checksumInWindow(block) ?? (await this.#checksum(block));
      if (bytes.length < wanted || found !== expected) {
        throw new ContentDamagedError(this.#id, block * blockBytes, 'damaged');
      }
    }
    return bytes.subarray(start, end);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #checksumInWindow(block: number): number | undefined {
    const { start, bytes } = this.#window;
    const at = this.#tableAt + block * checksumBytes - start;
    return at < 0 || at + checksumBytes > bytes.length ? undefined : bytes.readUInt32LE(at);
  }

  async #checksum(block: number): Promise<number> {
    const at = this.#tableAt + block * checksumBytes;
    const tableEnd = this.#tableAt + blocksOf(this.bytes) * checksumBytes;
    const wanted = Math.min(windowChecksums * checksumBytes, tableEnd - at);
    const offset = block * blockBytes;
    const bytes = await orDamaged(this.#id, offset, this.#file.read(at, wanted));
    if (bytes.length < wanted) throw new ContentDamagedError(this.#id, offset, 'truncated');
    this.#window = { start: at, bytes };
    return bytes.readUInt32LE(0);
  }
}

/** Turns errors of reading from the disk into damage. */
async function orDamaged<Result>(
  id: ExtentId,
  offset: number,
  reading: Promise<Result>,
): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    if (codeOf(error) !== 'EIO') throw error;
    throw new ContentDamagedError(id, offset, 'unreadable');
  }
}

/**
 * Reads all of an extent and compares it with its checksums. Yields how many bytes are right.
 * Throws `ExtentMissingError` and `ContentDamagedError`.
 */
export async function* verifiedBytes(
  files: ContentFiles,
  place: ExtentPlace,
): AsyncGenerator<number, void, void> {
  const extent = await openExtent(files, place);
  const memories = new PieceBuffers();
  try {
    for (let at = 0; at < extent.bytes;) {
      const piece = await extent.verify(await extent.fetch(at, extent.bytes, memories));
      at += piece.length;
      yield piece.length;
    }
  } finally {
    await extent.close();
  }
}

/** Reads a range of an extent, one piece ahead. */
export class RangeReader implements ExtentReader {
  readonly bytes: number;
  readonly pieces: AsyncIterable<Buffer>;
  readonly #extent: OpenExtent;
  readonly #memories = new PieceBuffers();
  /** The read of the next piece. */
  #fetching: Promise<Fetched> | undefined;
  #isClosed = false;

  /** The range is within the extent. */
  constructor(extent: OpenExtent, start: number, end: number) {
    this.bytes = extent.bytes;
    this.#extent = extent;
    this.pieces = this.#read(start, end);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A read under way needs the file.
    const idle = Promise.resolve(this.#fetching).catch(() => undefined);
    void idle.then(() => this.#extent.close()).catch(() => undefined);
  }

  async *#read(start: number, end: number): AsyncGenerator<Buffer, void, void> {
    try {
      for (let at = start; at < end;) {
        if (this.#isClosed) return;
        const fetched = await (this.#fetching ?? this.#extent.fetch(at, end, this.#memories));
        at += fetched.end - fetched.start;
        this.#fetching = undefined;
        if (this.#isClosed) return;
        // Another thread reads while this one verifies.
        if (at < end) this.#fetchAhead(at, end);
        yield await this.#extent.verify(fetched);
      }
    } finally {
      this.close();
    }
  }

  #fetchAhead(at: number, end: number): void {
    this.#fetching = this.#extent.fetch(at, end, this.#memories);
    // It may never be awaited; its rejection must not end the process.
    this.#fetching.catch(() => undefined);
  }
}
