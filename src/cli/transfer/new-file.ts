import { rmSync } from 'node:fs';
import { open, realpath, rename, stat, type FileHandle } from 'node:fs/promises';
import { systemRandomness } from '../../base/randomness.js';
import { kindOf } from '../../base/regular-file.js';
import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Writes a file that appears, or replaces another, when all of it is on disk. Until then it is
 * beside its place under another name, which is removed when the chunks or the disk fail, or the
 * process is told to end.
 *
 * @throws {UsageError} for a place that is taken by anything but a file
 */
export async function writeNewFile(path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const target = await checkedTarget(path);
  const temporary = `${target}.${systemRandomness.uuid()}.part`;
  const handle = await writing(path, () => open(temporary, 'wx'));
  const stopped = (signal: NodeJS.Signals): void => {
    rmSync(temporary, { force: true });
    for (const each of signals) process.removeListener(each, stopped);
    process.kill(process.pid, signal);
  };
  for (const each of signals) process.on(each, stopped);
  let isDone = false;
  try {
    await fill(path, handle, chunks);
    await writing(path, () => rename(temporary, target));
    isDone = true;
  } finally {
    for (const each of signals) process.removeListener(each, stopped);
    if (!isDone) rmSync(temporary, { force: true });
  }
}

async function fill(
  path: string,
  handle: FileHandle,
  chunks: AsyncIterable<Buffer>,
): Promise<void> {
  try {
    for await (const chunk of chunks) await writing(path, () => handle.writeFile(chunk));
    await writing(path, () => handle.sync());
  } finally {
    await handle.close();
  }
}

/** What the file is called when links are followed. */
async function checkedTarget(path: string): Promise<string> {
  try {
    const stats = await stat(path);
    if (stats.isFile()) return await realpath(path);
    throw new UsageError(`${path} is ${kindOf(stats)}: name a file, or - for standard output.`);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return path;
    throw error instanceof UsageError ? error : notWritten(path, error);
  }
}

async function writing<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw notWritten(path, error);
  }
}

function notWritten(path: string, error: unknown): CommandFailure {
  return new CommandFailure(`${path} cannot be written: ${messageOf(error)}`, { cause: error });
}
