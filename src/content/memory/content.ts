import { systemTimers, type Timers } from '../../base/async/timers.js';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { assertExtentBytes, assertOwner, assertRange } from '../assert-call.js';
import {
  contentPieceBytesMax,
  sweepSliceExtents,
  type ContentStore,
  type Extent,
  type ExtentId,
  type ExtentReader,
  type ScrubStep,
  type SweepOptions,
  type SweepStep,
} from '../content-store.js';
import { ContentClosedError, ContentWriteError, ExtentMissingError } from '../errors.js';
import { CallsInFlight, endsInTime } from '../calls-in-flight.js';
import { Retentions } from '../retentions.js';
import { unreferenced } from '../unreferenced.js';

export interface MemoryContentOptions {
  /**
   * Bytes that all extents together may have at this moment, those that are being stored included;
   * by default any number. More are a `ContentWriteError`.
   */
  readonly bytesMax?: (() => number) | undefined;
  /** Limit the time of a close. */
  readonly timers?: Timers;
}

/** Small pieces are joined when there are this many. */
const partsMax = 64;

interface Stored {
  readonly owner: Bytes;
  readonly bytes: number;
  /** All but the last one have `contentPieceBytesMax` bytes. */
  readonly pieces: readonly Buffer[];
}

/** Content in the memory of this process. It ends with the store. */
export function openMemoryContent(options: MemoryContentOptions = {}): ContentStore {
  const { bytesMax = () => Infinity, timers = systemTimers } = options;
  return new MemoryContent(bytesMax, timers);
}

class MemoryContent implements ContentStore {
  readonly #bytesMax: () => number;
  readonly #timers: Timers;
  readonly #calls = new CallsInFlight();
  readonly #retentions = new Retentions();
  readonly #extents = new Map<ExtentId, Stored>();
  #bytes = 0;
  #lastNumber = 0;
  #isSweeping = false;
  /** Nothing is stored any more. */
  #isOver = false;
  /** The extents that wait for their commits. */
  readonly #waiting = new Set<ExtentId>();
  /** Ids of `suspectAll` that were not looked at yet. */
  #suspects: ExtentId[] = [];

  constructor(bytesMax: () => number, timers: Timers) {
    this.#bytesMax = bytesMax;
    this.#timers = timers;
  }

  put(source: AsyncIterable<Buffer>, owner: Bytes): Promise<Extent> {
    return this.#calls.run(async () => {
      assertOwner(owner);
      const held = Buffer.from(owner);
      const { pieces, bytes } = await this.#gather(source);
      return this.#store({ owner: held, bytes, pieces });
    });
  }

  read(id: ExtentId, start: number, end: number): Promise<ExtentReader> {
    return this.#calls.run(async () => {
      const stored = this.#find(id);
      assertRange(id, stored.bytes, start, end);
      return new MemoryReader(stored, start, end);
    });
  }

  confirm(ids: readonly ExtentId[]): void {
    for (const id of ids) this.#waiting.delete(id);
  }

  free(ids: readonly ExtentId[]): Promise<void> {
    return this.#calls.run(async () => {
      this.confirm(ids);
      if (this.#retentions.isHeld) this.#retentions.defer(ids);
      else this.#delete(ids);
    });
  }

  link(id: ExtentId, owner: Bytes): Promise<Extent> {
    return this.#calls.run(async () => {
      assertOwner(owner);
      const stored = this.#find(id);
      this.#take(stored.bytes);
      return this.#store({ ...stored, owner: Buffer.from(owner) });
    });
  }

  retain(): () => void {
    return this.#retentions.retain();
  }

  suspectAll(): Promise<void> {
    return this.#calls.run(async () => {
      this.#suspects = Array.from(this.#extents.keys());
    });
  }

  sweepOrphans(options: SweepOptions): Promise<SweepStep> {
    return this.#calls.run(async () => {
      invariant(!this.#isSweeping, 'one step of a sweep at a time');
      this.#isSweeping = true;
      try {
        return await this.#sweep(options);
      } finally {
        this.#isSweeping = false;
      }
    });
  }

  async *scrub(): AsyncGenerator<ScrubStep, void, void> {
    await this.#calls.run(() => Promise.resolve());
    yield { extents: this.#extents.size, bytes: this.#bytes, damaged: [] };
  }

  async close(): Promise<void> {
    this.#calls.refuse();
    await endsInTime(this.#timers, this.#calls.none());
    this.#isOver = true;
    this.#extents.clear();
  }

  async #gather(source: AsyncIterable<Buffer>): Promise<Pick<Stored, 'bytes' | 'pieces'>> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    let parts: Buffer[] = [];
    let partBytes = 0;
    const endPiece = (): void => {
      if (partBytes > 0) pieces.push(Buffer.concat(parts, partBytes));
      parts = [];
      partBytes = 0;
    };
    try {
      for await (const piece of source) {
        assertExtentBytes(bytes + piece.length);
        this.#take(piece.length);
        bytes += piece.length;
        for (let at = 0; at < piece.length;) {
          const part = piece.subarray(at, at + contentPieceBytesMax - partBytes);
          if (parts.length === partsMax) parts = [Buffer.concat(parts, partBytes)];
          parts.push(Buffer.from(part));
          partBytes += part.length;
          at += part.length;
          if (partBytes === contentPieceBytesMax) endPiece();
        }
      }
      endPiece();
      return { pieces, bytes };
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    }
  }

  async #sweep({ isReferenced, extentsMax }: SweepOptions): Promise<SweepStep> {
    let looked = 0;
    let deleted = 0;
    while (!this.#retentions.isHeld) {
      const released = this.#retentions.released(sweepSliceExtents);
      const ids = released.length > 0 ? released : this.#suspects.slice(0, sweepSliceExtents);
      if (ids.length === 0) return { looked, deleted, more: false };
      if (looked > 0 && looked + ids.length > extentsMax) return { looked, deleted, more: true };
      const suspects = ids.flatMap((id) => {
        const stored = this.#extents.get(id);
        const isSuspect = stored !== undefined && !this.#waiting.has(id);
        return isSuspect ? [{ id, owner: stored.owner }] : [];
      });
      const orphans = await unreferenced(suspects, isReferenced);
      if (this.#retentions.isHeld) break;
      this.#delete(orphans);
      this.#retentions.settle(ids);
      if (released.length === 0) this.#suspects = this.#suspects.slice(ids.length);
      looked += ids.length;
      deleted += orphans.length;
    }
    return { looked, deleted, more: false };
  }

  #find(id: ExtentId): Stored {
    const found = this.#extents.get(id);
    if (found === undefined) throw new ExtentMissingError(id);
    return found;
  }

  #store(stored: Stored): Extent {
    if (this.#isOver) throw new ContentClosedError();
    this.#lastNumber += 1;
    const id = `memory-${this.#lastNumber.toString(36)}`;
    this.#extents.set(id, stored);
    this.#waiting.add(id);
    return { id, bytes: stored.bytes };
  }

  #take(bytes: number): void {
    const bytesMax = this.#bytesMax();
    if (this.#bytes + bytes > bytesMax) {
      const message = `The content in memory would have more than ${bytesMax} bytes.`;
      throw new ContentWriteError(message, { isFull: true });
    }
    this.#bytes += bytes;
  }

  #delete(ids: readonly ExtentId[]): void {
    for (const id of ids) {
      const stored = this.#extents.get(id);
      if (stored === undefined) continue;
      this.#extents.delete(id);
      this.#bytes -= stored.bytes;
    }
  }
}

class MemoryReader implements ExtentReader {
  readonly bytes: number;
  readonly pieces: AsyncIterable<Buffer>;
  #isClosed = false;

  constructor(stored: Stored, start: number, end: number) {
    this.bytes = stored.bytes;
    this.pieces = this.#read(stored, start, end);
  }

  close(): void {
    this.#isClosed = true;
  }

  async *#read(stored: Stored, start: number, end: number): AsyncGenerator<Buffer, void, void> {
    for (let at = start; at < end;) {
      if (this.#isClosed) return;
      const index = Math.floor(at / contentPieceBytesMax);
      const first = index * contentPieceBytesMax;
      const piece = stored.pieces[index]?.subarray(at - first, end - first);
      invariant(piece !== undefined && piece.length > 0, 'an extent has all of its pieces');
      yield piece;
      at += piece.length;
    }
  }
}
