import { mkdtemp, open as openFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Timers } from '../../../src/base/async/timers.js';
import { manualClock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import type { OpenedContent } from '../../../src/content/conformance/suite.js';
import type { ContentFiles, NewFile } from '../../../src/content/files/content-files.js';
import { contentDirectory, contentFolder } from '../../../src/content/files/content-directory.js';
import { openContentIn, type FileContent } from '../../../src/content/files/content.js';
import type { Liveness } from '../../../src/content/files/sessions.js';
import { decodeFoot, footBytes } from '../../../src/content/files/extent-format.js';
import { fileOf, placeOf } from '../../../src/content/files/extent-place.js';

/** What a test may ask of the content in a directory that goes with the test. */
export interface TemporaryContent extends OpenedContent {
  readonly directory: string;
  readonly content: FileContent;
  readonly reopen: (end: 'closed' | 'crashed') => Promise<FileContent>;
  readonly openBeside: () => Promise<FileContent>;
  readonly damage: (id: string, offset: number) => Promise<void>;
}

export type WrapFiles = (files: ContentFiles) => ContentFiles;

interface TemporaryOptions {
  readonly wrap?: WrapFiles;
  readonly isListening?: Liveness['isListening'];
  readonly timers?: Timers;
}

export async function temporaryContent({
  wrap = (files) => files,
  isListening,
  timers,
}: TemporaryOptions = {}): Promise<TemporaryContent> {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-content-'));
  const root = join(directory, contentFolder);
  const disk = new SmallDisk();
  const opened: FileContent[] = [];
  const open = async (): Promise<FileContent> => {
    const { files, liveness } = await contentDirectory(directory);
    const seen = isListening === undefined ? liveness : { ...liveness, isListening };
    const place = { files: wrap(disk.over(files)), liveness: seen };
    const content = await openContentIn(place, {
      clock: manualClock(),
      randomness: systemRandomness,
      ...(timers !== undefined && { timers }),
    });
    opened.push(content);
    return content;
  };
  return {
    directory,
    content: await open(),
    async reopen(end) {
      const last = opened.at(-1);
      await (end === 'closed' ? last?.close() : last?.abandon());
      return open();
    },
    openBeside: open,
    damage: (id, offset) => damageByte(root, id, offset),
    leaveRoom: (bytes) => disk.leaveRoom(bytes),
    count: () => countFiles(root),
    async dispose() {
      await Promise.all(opened.map((each) => each.close().catch(() => undefined)));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A disk with room for as many bytes as `leaveRoom` says. */
class SmallDisk {
  #room = Infinity;

  leaveRoom(bytes: number): void {
    this.#room = bytes;
  }

  over(files: ContentFiles): ContentFiles {
    return withAppends(files, (append) => async (parts) => {
      const bytes = parts.reduce((sum, { length }) => sum + length, 0);
      if (bytes > this.#room) {
        await append([Buffer.concat(parts).subarray(0, this.#room)]);
        this.#room = 0;
        throw systemError('ENOSPC');
      }
      this.#room -= bytes;
      await append(parts);
    });
  }
}

type Append = NewFile['append'];

/** Files whose writes go through a function. */
export function withAppends(
  files: ContentFiles,
  through: (append: Append) => Append,
): ContentFiles {
  return new Proxy(files, {
    get(target, name) {
      if (name !== 'create') return bound(target, name);
      return async (path: string): Promise<NewFile> => {
        const file = await target.create(path);
        const append = through((parts) => file.append(parts));
        return { append, sync: () => file.sync(), close: () => file.close() };
      };
    },
  });
}

/** A method that has its object when a proxy calls it. */
export function bound(target: ContentFiles, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name);
  return typeof member === 'function' ? member.bind(target) : member;
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by a test`), { code });
}

export async function countFiles(root: string): Promise<number> {
  const names = await readdir(join(root, 'extents'), { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile() && !entry.name.endsWith('.owner')).length;
}

export function pathOf(root: string, id: string): string {
  const place = placeOf(id);
  if (place === undefined) throw new Error(`no extent has the id ${id}`);
  return join(root, fileOf(place));
}

async function damageByte(root: string, id: string, offset: number): Promise<void> {
  const file = await openFile(pathOf(root, id), 'r+');
  try {
    const { size } = await file.stat();
    const end = Buffer.alloc(footBytes);
    await file.read(end, 0, footBytes, size - footBytes);
    const position = (decodeFoot(end)?.headBytes ?? 0) + offset;
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, position);
    await file.write(Buffer.of((byte[0] ?? 0) ^ 0x10), 0, 1, position);
  } finally {
    await file.close();
  }
}
