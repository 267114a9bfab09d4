import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** A part of a file, in bytes; `end` is not included. */
export interface FilePart {
  readonly start: number;
  readonly end: number;
}

/** Less than the unit of read-ahead of systems, so that no read starts one. */
const pieceBytes = 128 * 1024;
/** The maximum number of bytes that are read into the cache. */
const cachedBytesMax = 4 * 1024 * 1024 * 1024;

/** The number of bytes to read into the cache: at most half of the available memory. */
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
 * Reads a file into the cache of the operating system, backwards: for forward reads, Linux reads
 * ahead and caches in units of up to some megabytes, and then each write of a page costs processor
 * time for its whole unit. Throws when the file cannot be read. Returns the number of bytes read.
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
