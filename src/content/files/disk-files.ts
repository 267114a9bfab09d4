import { constants, fstatSync, statSync } from 'node:fs';
import {
  access,
  link,
  mkdir,
  open,
  readdir,
  rename,
  rmdir,
  unlink,
  type FileHandle,
} from 'node:fs/promises';
import { join } from 'node:path';
import { diskSpace, type DiskSpace } from '../../base/disk/disk-space.js';
import { privateDirectoryMode, privateFileMode } from '../../base/private-files.js';
import { syncDirectory } from '../../base/sync-directory.js';
import { codeOf } from '../../base/thrown.js';
import type { ContentFiles, NewFile, StoredFile } from './content-files.js';

const absent = ['ENOENT', 'ENOTDIR'];
/** The files of a content store in a folder of a disk. */
export class DiskContentFiles implements ContentFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async create(path: string): Promise<NewFile> {
    return new NewDiskFile(await open(this.#at(path), 'wx', privateFileMode));
  }

  async open(path: string): Promise<StoredFile> {
    const handle = await open(this.#at(path), 'r');
    try {
      // The system has it at hand once the file is open.
      return new StoredDiskFile(handle, fstatSync(handle.fd).size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  link(from: string, to: string): Promise<void> {
    return link(this.#at(from), this.#at(to));
  }

  rename(from: string, to: string): Promise<void> {
    return rename(this.#at(from), this.#at(to));
  }

  remove(path: string): Promise<boolean> {
    return unless(absent, unlink(this.#at(path)));
  }

  makeFolder(path: string): Promise<boolean> {
    return unless(['EEXIST'], mkdir(this.#at(path), { mode: privateDirectoryMode }));
  }

  removeFolder(path: string): Promise<boolean> {
    return unless([...absent, 'ENOTEMPTY', 'EEXIST'], rmdir(this.#at(path)));
  }

  async list(path: string): Promise<readonly string[]> {
    try {
      return (await readdir(this.#at(path))).toSorted();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  syncFolder(path: string): Promise<void> {
    return syncDirectory(this.#at(path));
  }

  isThere(path: string): boolean {
    return statSync(this.#at(path), { throwIfNoEntry: false }) !== undefined;
  }

  checkWritable(path: string): Promise<void> {
    return access(this.#at(path), constants.W_OK | constants.X_OK);
  }

  room(): Promise<DiskSpace | undefined> {
    return diskSpace(this.#root);
  }

  #at(path: string): string {
    return join(this.#root, path);
  }
}

/** True when the work succeeds, false when it fails with one of these codes. */
async function unless(codes: readonly string[], work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (codes.includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

class NewDiskFile implements NewFile {
  readonly #handle: FileHandle;
  #bytes = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async append(parts: readonly Buffer[]): Promise<void> {
    let left = parts.filter(({ length }) => length > 0);
    while (left.length > 0) {
      const written = await this.#write(left);
      this.#bytes += written;
      left = without(left, written);
    }
  }

  /** Writes some of the parts. Returns the number of bytes written. */
  async #write(parts: readonly Buffer[]): Promise<number> {
    const [first] = parts;
    if (first !== undefined && parts.length === 1) {
      return (await this.#handle.write(first, 0, first.length, this.#bytes)).bytesWritten;
    }
    return (await this.#handle.writev(parts, this.#bytes)).bytesWritten;
  }

  /** Leaves out the times of the file, which are not used. */
  sync(): Promise<void> {
    return this.#handle.datasync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** The parts without their first bytes: one call may write less than it was given. */
function without(parts: readonly Buffer[], bytes: number): Buffer[] {
  let skipped = 0;
  return parts.flatMap((part) => {
    const start = Math.min(part.length, Math.max(0, bytes - skipped));
    skipped += part.length;
    return start === part.length ? [] : [part.subarray(start)];
  });
}

class StoredDiskFile implements StoredFile {
  readonly bytes: number;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, bytes: number) {
    this.#handle = handle;
    this.bytes = bytes;
  }

  async read(
    position: number,
    bytes: number,
    buffer: Buffer = Buffer.allocUnsafe(bytes),
  ): Promise<Buffer> {
    let done = 0;
    while (done < bytes) {
      const { bytesRead } = await this.#handle.read(buffer, done, bytes - done, position + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return buffer.subarray(0, done);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
