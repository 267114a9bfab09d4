import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FileReadError, openRegularFile, readRegularFile } from '../../base/regular-file.js';
import { codeOf, CommandFailure, messageOf } from '../terminal/failure.js';

/** A document of one of Azurite's collections, as stored in its file. */
export type Document = Readonly<Record<string, unknown>>;

/** Documents by collection name. */
export type Collections = ReadonlyMap<string, readonly Document[]>;

/** Slightly less than the longest string of JavaScript. */
const databaseBytesMax = 500 * 1024 * 1024;
/** The text of a message is at most 64 KiB; its stored form may be longer. */
export const storedTextBytesMax = 512 * 1024;

/** Throws `CommandFailure` unless it is a directory. */
export async function requireDirectory(path: string): Promise<void> {
  const facts = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') throw new CommandFailure(`There is no directory ${path}.`);
    throw new CommandFailure(`${path} cannot be read: ${messageOf(error)}`);
  });
  if (!facts.isDirectory()) throw new CommandFailure(`${path} is a file, not a directory.`);
}

/**
 * The collections of an Azurite database file; undefined when the file does not exist. Throws
 * `CommandFailure` that names the file and the problem.
 */
export async function readCollections(path: string): Promise<Collections | undefined> {
  const bytes = await readBounded(path);
  if (bytes === undefined) return undefined;
  let database: unknown;
  try {
    database = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new CommandFailure(
      `${path} is no complete file of Azurite: ${messageOf(error)}. Stop Azurite first, so that it ` +
        'writes everything.',
    );
  }
  const collections = isDocument(database) ? database['collections'] : undefined;
  if (!Array.isArray(collections)) {
    throw new CommandFailure(`${path} is no file of Azurite: it has no collections.`);
  }
  return new Map(collections.flatMap(namedCollection));
}

function namedCollection(collection: unknown): [string, readonly Document[]][] {
  if (!isDocument(collection)) return [];
  const { name, data } = collection;
  if (typeof name !== 'string' || !Array.isArray(data)) return [];
  return [[name, data.filter(isDocument)]];
}

export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textIn(document: Document, name: string): string {
  const value = document[name];
  return typeof value === 'string' ? value : '';
}

async function readBounded(path: string): Promise<Buffer | undefined> {
  try {
    return await readRegularFile(path, databaseBytesMax);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    if (error.problem === 'absent') return undefined;
    const advice =
      error.problem === 'too-large'
        ? ' Copy its tables with tabularium table query --all -o jsonl and tabularium table import ' +
          'instead.'
        : '';
    throw new CommandFailure(`${error.message}.${advice}`, { cause: error });
  }
}

/** A part of a file beside the database; undefined when the file is too short. */
export async function readPart(
  folder: string,
  name: string,
  { offset, count }: { readonly offset: number; readonly count: number },
): Promise<Buffer | undefined> {
  const isPlain = /^[\w-]+$/.test(name);
  const isRange = Number.isSafeInteger(offset) && Number.isSafeInteger(count) && offset >= 0;
  if (!isPlain || !isRange || count < 0 || count > storedTextBytesMax) return undefined;
  try {
    const { handle } = await openRegularFile(join(folder, name));
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(count), 0, count, offset);
      return bytesRead === count ? buffer : undefined;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof FileReadError && error.problem === 'absent') return undefined;
    throw new CommandFailure(`${messageOf(error)}.`, { cause: error });
  }
}
