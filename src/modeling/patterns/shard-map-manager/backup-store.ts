import { accessSync, constants, createReadStream } from 'node:fs';
import { open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { makeDirectory } from '../../../base/make-directory.js';
import { syncDirectory } from '../../../base/sync-directory.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { codeOf, messageOf } from '../../../base/thrown.js';
import { ValueError } from '../../rows/model-error.js';
import type { ContainerPort } from '../../worker/container-port.js';
import { ManagerError } from './manager-errors.js';

/** Where backups are kept: files by name, such as `north/2024-05-31/orders.jsonl`. */
export interface BackupStore {
  /**
   * Stores lines, with their line feeds, as a file that is durable when it resolves. Until then,
   * and when the program is killed, no file of this name exists.
   */
  write(name: string, lines: AsyncIterable<string>): Promise<void>;
  /** The lines of a file, without their line feeds. Throws when it is not there. */
  read(name: string): AsyncIterable<string>;
  /**
   * The names that begin with a text, sorted. A file that is being written, or that a killed
   * program has left, may be among them under another name, which `delete` takes.
   */
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

/**
 * Ends lines at line feeds alone. `node:readline` also ends a line at the line and paragraph
 * separators of Unicode, which JSON contains unescaped.
 */
async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let begun: string[] = [];
  for await (const chunk of stream) {
    const [first = '', ...others] = textOfChunk(decoder, chunk).split('\n');
    begun.push(first);
    for (const part of others) {
      yield begun.join('');
      begun = [part];
    }
  }
  const last = begun.join('') + decoder.end();
  if (last !== '') yield last;
}

function textOfChunk(decoder: StringDecoder, chunk: string | Buffer): string {
  return typeof chunk === 'string' ? chunk : decoder.write(chunk);
}

export interface BackupFilesOptions {
  readonly randomness?: Randomness;
  /** Makes the entries of a directory durable; asks the system when absent. */
  readonly sync?: (directory: string) => Promise<void>;
}

/**
 * In a directory, which is made. A file has its name when all of it is on the disk; until then it
 * has one that ends with `.partial`. A directory goes with its last file. `write` and `list` throw
 * `ManagerError`, which names the path, for a directory that this program may not make, enter or
 * list, or that is none.
 */
export function backupFiles(
  directory: string,
  { randomness = systemRandomness, sync = syncDirectory }: BackupFilesOptions = {},
): BackupStore {
  const pathOf = (name: string): string => {
    const path = join(directory, name);
    if (relative(directory, path).split(sep)[0] !== '..') return path;
    throw new ValueError(`'${name}' is no name of a file in ${directory}`);
  };
  const makeRoot = async (): Promise<void> => {
    const made = await reached(directory, () => makeDirectory(directory, 0o700));
    for (const created of made) await sync(dirname(created));
  };
  return {
    async write(name, lines) {
      const path = pathOf(name);
      await makeRoot();
      await reached(directory, () => makeDirectory(dirname(path), 0o700));
      const partial = `${path}.${randomness.uuid()}.partial`;
      try {
        const file = await reached(directory, () => open(partial, 'wx', 0o600));
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
      // Whether this call made them or another one, which may not have come to that.
      for (const each of directoriesOf(directory, path)) await sync(each);
    },
    read: (name) => linesOf(createReadStream(pathOf(name))),
    async list(prefix) {
      await makeRoot();
      const found = await reached(directory, () =>
        readdir(directory, { recursive: true, withFileTypes: true }),
      );
      return found
        .filter((entry) => entry.isFile())
        .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
        .map((name) => name.split(sep).join('/'))
        .filter((name) => name.startsWith(prefix))
        .sort();
    },
    async delete(name) {
      const path = pathOf(name);
      await rm(path, { force: true });
      const parent = dirname(path);
      if (relative(directory, parent) !== '') await removeEmpty(parent);
    },
  };
}

/** Throws `ManagerError` where the system refuses what is done in the directory of backups. */
async function reached<T>(directory: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    const told = `the directory of backups '${directory}' cannot be used: ${messageOf(error)}`;
    throw new ManagerError(`${told}; ${insteadOf(directory, code)}`, { cause: error });
  }
}

/** What to do about an error of the system. */
function insteadOf(directory: string, code: string): string {
  const another = 'or name another directory';
  switch (code) {
    case 'EACCES':
    case 'EPERM': {
      const barred = barredAt(directory);
      return barred === undefined
        ? `let this program read and write there, ${another}`
        : `let this program enter '${barred}', ${another}`;
    }
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a file is where a directory should be: move it, ' + another;
    default:
      return `see to that, ${another}`;
  }
}

/** The outermost directory of a path that this program may not enter; undefined: it may all. */
function barredAt(directory: string): string | undefined {
  const path: string[] = [];
  for (let at = resolve(directory); ; at = dirname(at)) {
    path.unshift(at);
    if (dirname(at) === at) break;
  }
  return path.find((each) => !mayEnter(each));
}

function mayEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch (error) {
    return codeOf(error) !== 'EACCES';
  }
}

/** Those that lead to a file, from its own to the root. */
function directoriesOf(root: string, path: string): readonly string[] {
  const names = relative(root, dirname(path)).split(sep);
  const below = names.filter((name) => name !== '');
  return below
    .map((_, index) => join(root, ...below.slice(0, index + 1)))
    .toReversed()
    .concat(root);
}

async function removeEmpty(directory: string): Promise<void> {
  try {
    await rmdir(directory);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}

const blobsPerPage = 5000;

/**
 * As block blobs of a container, which are there when all their blocks are. Blocks that a killed
 * program has sent are no blob; the service deletes them after a week. A request for each four
 * mebibytes, 50,000 at most, and one more.
 */
export function backupBlobs(container: ContainerPort): BackupStore {
  return {
    async write(name, lines) {
      const blob = container.getBlockBlobClient(name);
      const ids: string[] = [];
      for await (const part of partsOf(lines)) {
        // All ids of a blob have one length.
        const id = Buffer.from(String(ids.length).padStart(6, '0')).toString('base64');
        await blob.stageBlock(id, part, part.byteLength);
        ids.push(id);
      }
      await blob.commitBlockList(ids);
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
