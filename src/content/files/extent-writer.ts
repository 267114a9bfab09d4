import { crc32 } from 'node:zlib';
import { assertExtentBytes } from '../assert-call.js';
import type { NewFile } from './content-files.js';
import {
  blockBytes,
  blockSeed,
  checksumBytes,
  encodeFoot,
  encodeHead,
  type ExtentHead,
} from './extent-format.js';

/** An extent whose first piece is shorter is not aligned. */
const alignedBytesMin = 32 * 1024;
const pageBytes = 4096;
/** Pieces are gathered up to this length: to wake a thread for a write costs more than to copy. */
const gatheredBytesMax = 256 * 1024;
/** After this many bytes a sync begins while further bytes come, so the last sync is short. */
const syncEveryBytes = 32 * 1024 * 1024;
/** The bytes that may be appended during a sync, which itself may have as many. */
const unsyncedBytesMax = 128 * 1024 * 1024;

/** Writes one extent. */
export class ExtentWriter {
  readonly #file: NewFile;
  readonly #head: ExtentHead;
  #headBytes: number;
  /** Runs a sync of the file. */
  readonly #sync: () => Promise<void>;
  readonly #checksums = new Checksums();
  #bytes = 0;
  #blockSum: number;
  /** Memory with what was not written yet, which is used again behind each write. */
  #gathered: Buffer;
  #gatheredBytes: number;
  #unsyncedBytes = 0;
  #earlySync: Promise<void> = Promise.resolve();
  #isSyncing = false;

  constructor(file: NewFile, head: ExtentHead, sync: () => Promise<void>) {
    this.#file = file;
    this.#head = head;
    this.#sync = sync;
    this.#gathered = encodeHead(head);
    this.#headBytes = this.#gathered.length;
    this.#gatheredBytes = this.#headBytes;
    this.#blockSum = blockSeed(head.salt, 0);
  }

  /** Appends a piece. Its buffer may be reused when this settles. */
  async append(piece: Buffer): Promise<void> {
    if (piece.length === 0) return;
    assertExtentBytes(this.#bytes + piece.length);
    if (this.#bytes === 0 && piece.length >= alignedBytesMin) this.#alignHead();
    if (this.#gatheredBytes + piece.length < gatheredBytesMax) {
      this.#sum(piece);
      this.#gather(piece);
      return;
    }
    const written = this.#gatheredBytes + piece.length;
    const writing = this.#file.append([this.#unwritten, piece]);
    // While another thread writes.
    this.#sum(piece);
    await writing;
    this.#gatheredBytes = 0;
    await this.#syncEarly(written);
  }

  /** The bytes of the extent, which are durable in the file when this resolves. */
  async finish(): Promise<number> {
    const isBlockBegun = this.#bytes % blockBytes > 0;
    if (isBlockBegun) this.#checksums.add(this.#blockSum);
    const { session, number, salt } = this.#head;
    const bytes = this.#bytes;
    const foot = encodeFoot({ session, number, salt, bytes, headBytes: this.#headBytes });
    await this.#file.append([this.#unwritten, this.#checksums.bytes, foot]);
    await this.#earlySync;
    await this.#sync();
    return bytes;
  }

  /** Resolves when nothing uses the file any more. */
  async settled(): Promise<void> {
    await this.#earlySync.catch(() => undefined);
  }

  #sum(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      const left = blockBytes - (this.#bytes % blockBytes);
      const part = piece.subarray(at, at + left);
      this.#blockSum = crc32(part, this.#blockSum);
      this.#bytes += part.length;
      at += part.length;
      if (part.length < left) return;
      this.#checksums.add(this.#blockSum);
      this.#blockSum = blockSeed(this.#head.salt, this.#bytes / blockBytes);
    }
  }

  /** Pads the head to a memory page: aligned writes of a long extent take less work. */
  #alignHead(): void {
    this.#headBytes = Math.ceil(this.#headBytes / pageBytes) * pageBytes;
    this.#gathered = Buffer.concat([this.#unwritten], this.#headBytes);
    this.#gatheredBytes = this.#headBytes;
  }

  get #unwritten(): Buffer {
    return this.#gathered.subarray(0, this.#gatheredBytes);
  }

  #gather(piece: Buffer): void {
    const needed = this.#gatheredBytes + piece.length;
    if (needed > this.#gathered.length) {
      // The buffer doubles, so that tiny pieces are not copied again and again.
      const room = Math.min(gatheredBytesMax, Math.max(needed, 2 * this.#gathered.length));
      const larger = Buffer.allocUnsafe(room);
      this.#gathered.copy(larger, 0, 0, this.#gatheredBytes);
      this.#gathered = larger;
    }
    piece.copy(this.#gathered, this.#gatheredBytes);
    this.#gatheredBytes = needed;
  }

  async #syncEarly(written: number): Promise<void> {
    this.#unsyncedBytes += written;
    if (this.#unsyncedBytes < syncEveryBytes) return;
    if (this.#isSyncing && this.#unsyncedBytes < unsyncedBytesMax) return;
    await this.#earlySync;
    this.#unsyncedBytes = 0;
    this.#isSyncing = true;
    this.#earlySync = this.#sync().finally(() => (this.#isSyncing = false));
    // It is awaited later; until then a rejection must not end the process.
    this.#earlySync.catch(() => undefined);
  }
}

/** A growing table of checksums. */
class Checksums {
  #table = Buffer.alloc(16 * checksumBytes);
  #length = 0;

  get bytes(): Buffer {
    return this.#table.subarray(0, this.#length);
  }

  add(checksum: number): void {
    if (this.#length === this.#table.length) {
      this.#table = Buffer.concat([this.#table], 2 * this.#table.length);
    }
    this.#table.writeUInt32LE(checksum, this.#length);
    this.#length += checksumBytes;
  }
}
