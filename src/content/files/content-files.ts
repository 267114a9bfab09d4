import type { DiskSpace } from '../../base/disk/disk-space.js';

/**
 * The files of a content store: on a disk, or in a model of one. Paths are relative to the folder
 * of the content, with `/`; the empty path is that folder. Rejections are errors of the system,
 * with a `code`.
 */
export interface ContentFiles {
  /** A new file, which only its user may read. `EEXIST` when there is one. */
  create(path: string): Promise<NewFile>;
  /** `ENOENT` when there is none. */
  open(path: string): Promise<StoredFile>;
  /** A second name for a file. */
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. False when there is none. */
  remove(path: string): Promise<boolean>;
  /** Makes a folder within one that is there. False when there is one already. */
  makeFolder(path: string): Promise<boolean>;
  /** Removes a folder that is empty. False when it is not, or when there is none. */
  removeFolder(path: string): Promise<boolean>;
  /** The names in a folder, in order. None when there is no folder. */
  list(path: string): Promise<readonly string[]>;
  /** Makes durable which names a folder has. */
  syncFolder(path: string): Promise<void>;
  /** Whether there is a file of this name. At once. */
  isThere(path: string): boolean;
  /** Rejects when no files can be made in a folder, or it is not there. */
  checkWritable(path: string): Promise<void>;
  /** The space of the disk. Undefined when the system does not tell. */
  room(): Promise<DiskSpace | undefined>;
}

/** A file that is being written from its beginning. */
export interface NewFile {
  /** Appends all of the bytes. The buffers are used until this settles. */
  append(parts: readonly Buffer[]): Promise<void>;
  /** Makes durable what was appended before. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A file that is being read. */
export interface StoredFile {
  /** Its length when it was opened. */
  readonly bytes: number;
  /**
   * Fewer bytes when the file ends before. They are in `memory` where it is given and the file is
   * not in memory itself; it has room for them.
   */
  read(position: number, bytes: number, memory?: Buffer): Promise<Buffer>;
  /** Waits for reads under way. */
  close(): Promise<void>;
}
