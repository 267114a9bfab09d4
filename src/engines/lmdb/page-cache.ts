import { open, stat } from 'node:fs/promises';

/** A part of a file, in bytes; `end` is not included. */
export interface FilePart {
  readonly start: number;
  readonly end: number;
}

/** Less than systems read ahead at once, so that no read begins a read-ahead. */
const pieceBytes = 128 * 1024;
/** The most of a file that is read into the cache. */
const cachedBytesMax = 4 * 1024 * 1024 * 1024;

/** How much of a file is read into the cache: half of the memory that could be had, at most. */
export function cachedBytesBound(availableBytes = process.availableMemory()): number {
  return Math.min(cachedBytesMax, Math.floor(availableBytes / 2));
}

/**
 * Cuts the last `bytesMax` bytes of a file into as many parts as there are lanes, each of whole
 * pieces, the last one aside.
 */
export function lanesOf(size: number, bytesMax: number, lanes: number): readonly FilePart[] {
  const first = Math.max(0, size - bytesMax);
  const laneBytes = Math.ceil((size - first) / lanes / pieceBytes) * pieceBytes;
  return Array.from({ length: lanes }, (_, lane) => ({
    start: Math.min(size, first + lane * laneBytes),
    end: Math.min(size, first + (lane + 1) * laneBytes),
  })).filter(({ start, end }) => start < end);
}

/** The pieces of a part, the last one first. */
export function* piecesBackwards({ start, end }: FilePart): Generator<FilePart> {
  for (let to = end; to > start;) {
    const from = Math.max(start, to - pieceBytes);
    yield { start: from, end: to };
    to = from;
  }
}

export interface PageCacheOptions {
  readonly bytesMax: number;
  /** Parts that are read side by side; each takes a thread of the process' pool. */
  readonly lanes: number;
  /** Asked before each piece. */
  readonly isStopped?: () => boolean;
}

/**
 * Reads a file into the cache of the operating system, backwards. Linux keeps what it reads ahead
 * of somebody who reads forwards in units of up to some megabytes, and each write of a page costs
 * processor time for all of the unit that holds it. Rejects when the file cannot be read.
 */
export async function fillPageCache(path: string, options: PageCacheOptions): Promise<void> {
  const { size } = await stat(path);
  const lanes = lanesOf(size, options.bytesMax, options.lanes);
  await Promise.all(lanes.map((part) => readBackwards(path, part, options)));
}

async function readBackwards(
  path: string,
  part: FilePart,
  { isStopped = () => false }: PageCacheOptions,
): Promise<void> {
  // Systems read ahead by what was read of the same opened file before.
  await using file = await open(path, 'r');
  const piece = Buffer.allocUnsafeSlow(pieceBytes);
  for (const { start, end } of piecesBackwards(part)) {
    if (isStopped()) return;
    await file.read(piece, 0, end - start, start);
  }
}

/** Fills the cache while the store is in use. */
export class CacheFilling {
  readonly #filling: Promise<void>;
  #isStopped = false;

  /** `onFailed`: the file cannot be read. */
  constructor(path: string, bytesMax: number, onFailed: (error: unknown) => void) {
    const isStopped = () => this.#isStopped;
    // The other threads of the pool are for commits.
    const options = { bytesMax, lanes: 2, isStopped };
    this.#filling = fillPageCache(path, options).catch(onFailed);
  }

  /** Resolves when nothing is read any more. */
  async close(): Promise<void> {
    this.#isStopped = true;
    await this.#filling;
  }
}
