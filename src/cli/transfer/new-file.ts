import { createReadStream, renameSync, rmSync } from 'node:fs';
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { systemRandomness } from '../../base/randomness.js';
import { kindOf } from '../../base/regular-file.js';
import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

/**
 * The signals that end a process unless it handles them; SIGHUP is sent when a terminal is closed.
 */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The first bytes of a file, of an earlier try that did not end. */
export interface PartialFile {
  readonly bytes: number;
  readonly chunks: AsyncIterable<Buffer>;
}

/** The means by which the source of a new file makes it resumable. */
export interface Resumable {
  /**
   * From now on, an incomplete file is kept for the next file of this name and state to continue.
   * Returns the bytes that an earlier attempt has left; further chunks follow them. To be called
   * before the first chunk. `state` identifies the contents, by letters and digits.
   */
  resume(state: string): Promise<PartialFile>;
  /** Discards the bytes that were written or kept. */
  forget(): void;
}

/**
 * Writes a file that appears, or replaces another, when all of it is on disk. Until then it has
 * another name in the same folder. When the chunks or the disk fail, or a signal ends the process,
 * it is removed, or kept when its source has called `resume`; then `onKept` is called with its
 * path, unless the process ends.
 *
 * @throws {UsageError} for a place that is taken by anything but a file
 */
export async function writeNewFile(
  path: string,
  chunksFor: (file: Resumable) => AsyncIterable<Buffer>,
  onKept: (place: string) => void = () => undefined,
): Promise<void> {
  const file = await NewFile.create(path);
  const stopped = (signal: NodeJS.Signals): void => {
    file.giveUp();
    for (const each of signals) process.removeListener(each, stopped);
    process.kill(process.pid, signal);
  };
  for (const each of signals) process.on(each, stopped);
  try {
    await file.fill(chunksFor(file));
  } catch (error) {
    const keptAt = file.giveUp();
    if (keptAt !== undefined) onKept(keptAt);
    throw error;
  } finally {
    for (const each of signals) process.removeListener(each, stopped);
  }
}

/** A file that is being written beside its place. */
class NewFile implements Resumable {
  readonly #path: string;
  readonly #target: string;
  readonly #temporary: string;
  #handle: FileHandle;
  /** The name under which an incomplete file is kept; undefined: it is removed. */
  #keptAs: string | undefined;

  private constructor(path: string, target: string, temporary: string, handle: FileHandle) {
    this.#path = path;
    this.#target = target;
    this.#temporary = temporary;
    this.#handle = handle;
  }

  static async create(path: string): Promise<NewFile> {
    const target = await checkedTarget(path);
    const temporary = `${target}.${systemRandomness.uuid()}.part`;
    return new NewFile(path, target, temporary, await writing(path, () => open(temporary, 'wx')));
  }

  async resume(state: string): Promise<PartialFile> {
    const keptAs = `${this.#target}.${state}.part`;
    this.#keptAs = keptAs;
    try {
      // The new name belongs to this process, so no other continues the file.
      await rename(keptAs, this.#temporary);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw notWritten(this.#path, error);
      return { bytes: 0, chunks: nothing() };
    }
    await this.#handle.close();
    this.#handle = await writing(this.#path, () => open(this.#temporary, 'a'));
    const { size } = await writing(this.#path, () => this.#handle.stat());
    return { bytes: size, chunks: createReadStream(this.#temporary) };
  }

  forget(): void {
    this.#keptAs = undefined;
  }

  async fill(chunks: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of chunks) {
        await writing(this.#path, () => this.#handle.writeFile(chunk));
      }
      await writing(this.#path, () => this.#handle.sync());
    } finally {
      await this.#handle.close();
    }
    await writing(this.#path, () => rename(this.#temporary, this.#target));
    // An earlier process may have kept a part of the same bytes, which is not needed now.
    if (this.#keptAs !== undefined) await rm(this.#keptAs, { force: true });
  }

  /** Removes the incomplete file, or keeps it and returns its path. Does not throw. */
  giveUp(): string | undefined {
    const keptAs = this.#keptAs;
    try {
      if (keptAs !== undefined) renameSync(this.#temporary, keptAs);
      else rmSync(this.#temporary, { force: true });
      return keptAs;
    } catch {
      // The caller reports the original failure.
      rmSync(this.#temporary, { force: true });
      return undefined;
    }
  }
}

async function* nothing(): AsyncGenerator<Buffer> {
  // No bytes.
}

/** The path of the file after following links. */
async function checkedTarget(path: string): Promise<string> {
  try {
    const stats = await stat(path);
    if (stats.isFile()) return await realpath(path);
    throw new UsageError(
      `${path} is ${kindOf(stats)}: name another file, or - for standard output.`,
    );
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
