import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

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

/** The pieces of the last `bytesMax` bytes of a file, the last one first. */
export function* piecesBackwards(size: number, bytesMax: number): Generator<FilePart> {
  const first = Math.max(0, size - bytesMax);
  for (let end = size; end > first;) {
    const start = Math.max(first, end - pieceBytes);
    yield { start, end };
    end = start;
  }
}

/**
 * Reads a file into the cache of the operating system, backwards. Linux keeps what it reads ahead
 * of somebody who reads forwards in units of up to some megabytes, and each write of a page costs
 * processor time for all of the unit that holds it. Throws when the file cannot be read. Returns
 * the number of bytes that were read.
 */
export function fillPageCache(path: string, bytesMax: number): number {
  const file = openSync(path, 'r');
  try {
    const piece = Buffer.allocUnsafeSlow(pieceBytes);
    let bytes = 0;
    for (const { start, end } of piecesBackwards(fstatSync(file).size, bytesMax)) {
      bytes += readSync(file, piece, 0, end - start, start);
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
