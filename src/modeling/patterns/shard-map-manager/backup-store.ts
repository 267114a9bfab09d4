import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { makeDirectory } from '../../../base/make-directory.js';
import { syncDirectory } from '../../../base/sync-directory.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { ValueError } from '../../rows/model-error.js';
import type { ContainerPort } from '../../worker/container-port.js';

/** Where backups are kept: files by name, such as `north/2024-05-31/orders.jsonl`. */
export interface BackupStore {
  /** Lines with their line feeds, as a file that is there, durably, when it resolves. */
  write(name: string, lines: AsyncIterable<string>): Promise<void>;
  /** The lines of a file, without their line feeds. Throws when it is not there. */
  read(name: string): AsyncIterable<string>;
  /** The names that begin with a text, sorted. */
  list(prefix: string): Promise<readonly string[]>;
  /** Does nothing when there is none. */
  delete(name: string): Promise<void>;
}

/** Bytes of lines that are sent or written at once. */
const partBytes = 4 << 20;

/** The lines in parts of about four mebibytes. */
async function* partsOf(lines: AsyncIterable<string>): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const line of lines) {
    const buffer = Buffer.from(line);
    waiting.push(buffer);
    bytes += buffer.byteLength;
    if (bytes < partBytes) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string, void, undefined> {
  yield* createInterface({ input: stream, crlfDelay: Infinity });
}

/** In a directory, which is made. A file has its name when all of it is on the disk. */
export function backupFiles(
  directory: string,
  { randomness = systemRandomness }: { readonly randomness?: Randomness } = {},
): BackupStore {
  const pathOf = (name: string): string => {
    const path = join(directory, name);
    if (relative(directory, path).split(sep)[0] !== '..') return path;
    throw new ValueError(`'${name}' is no name of a file in ${directory}`);
  };
  return {
    async write(name, lines) {
      const path = pathOf(name);
      makeDirectory(dirname(path), 0o700);
      const partial = `${path}.${randomness.uuid()}${partialEnd}`;
      try {
        const file = await open(partial, 'wx', 0o600);
        try {
          // A single write may take a part alone.
          for await (const part of partsOf(lines)) await file.appendFile(part);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(partial, path);
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
      await syncDirectory(dirname(path));
    },
    read: (name) => linesOf(createReadStream(pathOf(name))),
    async list(prefix) {
      makeDirectory(directory, 0o700);
      const found = await readdir(directory, { recursive: true, withFileTypes: true });
      return found
        .filter((entry) => entry.isFile() && !entry.name.endsWith(partialEnd))
        .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
        .map((name) => name.split(sep).join('/'))
        .filter((name) => name.startsWith(prefix))
        .sort();
    },
    delete: (name) => rm(pathOf(name), { force: true }),
  };
}

const partialEnd = '.partial';
const blobsPerPage = 5000;

/**
 * As append blobs of a container. A name is written once: one that was left half written is deleted
 * and made anew. A request for each four mebibytes, and two more.
 */
export function backupBlobs(container: ContainerPort): BackupStore {
  return {
    async write(name, lines) {
      const blob = container.getAppendBlobClient(name);
      await blob.deleteIfExists({ deleteSnapshots: 'include' });
      await blob.create({ conditions: { ifNoneMatch: '*' } });
      let appendPosition = 0;
      for await (const part of partsOf(lines)) {
        await blob.appendBlock(part, part.byteLength, { conditions: { appendPosition } });
        appendPosition += part.byteLength;
      }
    },
    async *read(name) {
      const { readableStreamBody } = await container.getBlobClient(name).download();
      if (readableStreamBody !== undefined) yield* linesOf(readableStreamBody);
    },
    async list(prefix) {
      const names: string[] = [];
      let continuationToken: string | undefined;
      do {
        const pages = container.listBlobsFlat({ prefix }).byPage({
          maxPageSize: blobsPerPage,
          ...(continuationToken === undefined ? {} : { continuationToken }),
        });
        const page = await pages.next();
        if (page.done === true) break;
        names.push(...page.value.segment.blobItems.map((item) => item.name));
        continuationToken = page.value.continuationToken || undefined;
      } while (continuationToken !== undefined);
      return names.sort();
    },
    delete: async (name) => {
      await container.getBlobClient(name).deleteIfExists({ deleteSnapshots: 'include' });
    },
  };
}
