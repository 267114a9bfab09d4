import { constants, type BigIntStats, type Stats } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { codeOf, messageOf } from './thrown.js';

/** Why a file cannot be read. */
export type FileProblem =
  'absent' | 'forbidden' | 'directory' | 'not-regular' | 'too-large' | 'failed';

/**
 * A file that cannot be read. `reason` follows the name of the file: `is a directory, not a file`.
 */
export class FileReadError extends Error {
  override readonly name = 'FileReadError';
  readonly problem: FileProblem;
  readonly reason: string;

  constructor(path: string, problem: FileProblem, reason: string, cause?: unknown) {
    super(`${path} ${reason}`, { cause });
    this.problem = problem;
    this.reason = reason;
  }
}

/** A regular file that is open for reading, and its state when it was opened. */
export interface RegularFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
}

/**
 * Opens a regular file for reading, without blocking. Refuses any other kind of file: opening a
 * pipe waits for a writer, and a device may have no end. Throws `FileReadError`. The caller closes
 * the handle.
 */
export async function openRegularFile(path: string): Promise<RegularFile> {
  try {
    // Opening a device can have side effects, so the kind is checked first.
    checkKind(path, await stat(path, { bigint: true }));
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await handle.stat({ bigint: true });
      checkKind(path, stats);
      return { path, handle, stats };
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw readErrorOf(path, error);
  }
}

/**
 * The whole content of an open file. Throws `FileReadError`, also for one larger than `bytesMax`.
 */
export async function readWhole(
  { path, handle, stats }: RegularFile,
  bytesMax: number,
): Promise<Buffer> {
  if (stats.size > bytesMax) throw tooLarge(path, bytesMax);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const size = Number(stats.size);
  try {
    // The size does not bound the content: a file may grow, and files of /proc report size 0.
    for (;;) {
      // Most files are read in one chunk, which is not copied.
      const chunkBytes = Math.max(chunkBytesMin, size - bytes);
      const wanted = Math.min(chunkBytes, bytesMax + 1 - bytes);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, bytes);
      if (bytesRead === 0) return joined(chunks, bytes);
      bytes += bytesRead;
      if (bytes > bytesMax) throw tooLarge(path, bytesMax);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } catch (error) {
    throw readErrorOf(path, error);
  }
}

/** The whole content of a regular file of at most `bytesMax` bytes. Throws `FileReadError`. */
export async function readRegularFile(path: string, bytesMax: number): Promise<Buffer> {
  const file = await openRegularFile(path);
  try {
    return await readWhole(file, bytesMax);
  } finally {
    await file.handle.close();
  }
}

const chunkBytesMin = 64 * 1024;

function joined(chunks: readonly Buffer[], bytes: number): Buffer {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes);
}

function checkKind(path: string, stats: BigIntStats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new FileReadError(path, 'directory', 'is a directory, not a file');
  throw new FileReadError(path, 'not-regular', `is ${kindOf(stats)}, not a regular file`);
}

/** The kind of a file that is not regular, with its article. */
export function kindOf(stats: Stats | BigIntStats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'something else';
}

function tooLarge(path: string, bytesMax: number): FileReadError {
  return new FileReadError(path, 'too-large', `is larger than ${bytesMax} bytes`);
}

function readErrorOf(path: string, error: unknown): FileReadError {
  if (error instanceof FileReadError) return error;
  switch (codeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new FileReadError(path, 'absent', 'does not exist', error);
    case 'EACCES':
    case 'EPERM':
      return new FileReadError(path, 'forbidden', 'may not be read by this user', error);
    default:
      return new FileReadError(path, 'failed', `cannot be read: ${messageOf(error)}`, error);
  }
}
