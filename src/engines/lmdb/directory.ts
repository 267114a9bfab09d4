import { existsSync } from 'node:fs';
import { open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../../base/make-directory.js';
import { keepPrivate, privateDirectoryMode, privateFileMode } from '../../base/private-files.js';
import { syncDirectory } from '../../base/sync-directory.js';
import { systemRandomness } from '../../base/randomness.js';
import { FileReadError, readRegularFile } from '../../base/regular-file.js';
import { DataDirectoryError } from './directory/data-directory-error.js';
import { checkFileKinds, formatFile } from './directory/file-kinds.js';

/**
 * The format this release reads and writes: key layout, value layout and the engine's files. Since
 * 2, values have checksums.
 */
export const formatVersion = 2;
const product = 'tabularium';
/** The format file has a few dozen bytes. */
const formatBytesMax = 4096;
/** Names that a file system or an interrupted creation may leave in an empty directory. */
const ignorable = /^(lost\+found|\.DS_Store|format\.new-.*)$/;

interface Format {
  readonly product: string;
  readonly format: number;
  /** Present until the directory has a data file; afterwards a missing data file means a loss. */
  readonly state?: 'new';
}

export interface PreparedDirectory {
  /** True when the directory has never held data. */
  readonly isNew: boolean;
}

/** Whether this has ever been a data directory, of whatever format. */
export function isDataDirectory(directory: string): boolean {
  return existsSync(join(directory, formatFile));
}

/** Prepares a data directory, and checks that this release knows its format. */
export async function prepareDirectory(
  directory: string,
  options: { readonly create: boolean },
): Promise<PreparedDirectory> {
  if (options.create) makeDirectory(directory, privateDirectoryMode);
  await checkFileKinds(directory);
  const text = await readFormat(directory);
  if (text !== undefined) return knownFormat(directory, text);
  if (!options.create) {
    throw new DataDirectoryError('no-owner', `There is no data directory at ${directory}.`);
  }
  const others = (await readdir(directory)).filter((name) => !ignorable.test(name));
  // Another process may have initialised the directory meanwhile.
  if (others.includes(formatFile)) return prepareDirectory(directory, options);
  if (others.length > 0) throw foreign(directory, others);
  await writeFormat(directory, { product, format: formatVersion, state: 'new' });
  return { isNew: true };
}

/** Records that a new directory has its data file. */
export function noteDataFile(directory: string): Promise<void> {
  return writeFormat(directory, { product, format: formatVersion });
}

async function readFormat(directory: string): Promise<string | undefined> {
  try {
    return (await readRegularFile(join(directory, formatFile), formatBytesMax)).toString();
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    if (error.problem === 'absent') return undefined;
    // A longer file is no format file; the caller refuses the empty text.
    if (error.problem === 'too-large') return '';
    throw new DataDirectoryError('foreign', `The data directory cannot be used: ${error.message}.`);
  }
}

/** Written atomically, and synced before anything else is written to the directory. */
async function writeFormat(directory: string, format: Format): Promise<void> {
  const unfinished = join(directory, `${formatFile}.new-${systemRandomness.uuid()}`);
  const file = await open(unfinished, 'wx', privateFileMode);
  try {
    await file.writeFile(`${JSON.stringify(format)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, join(directory, formatFile));
  await syncDirectory(directory);
}

/**
 * Restricts a data directory and its files to their owner, also those that an earlier release
 * created readable for all. Returns warnings for what cannot be changed.
 */
export async function secureDirectory(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const own = entries.filter((entry) => entry.isFile() || entry.isSocket());
  const paths = own.map(({ name }) => join(directory, name));
  return [directory, ...paths].map(keepPrivate).filter((text) => text !== undefined);
}

function knownFormat(directory: string, text: string): PreparedDirectory {
  const found = parseFormat(text);
  if (found === undefined) {
    throw new DataDirectoryError(
      'damaged',
      `The file ${join(directory, formatFile)} does not say which format the directory has. ` +
        'Restore it from a backup, or choose another directory.',
    );
  }
  const { format } = found;
  if (format < formatVersion) {
    throw new DataDirectoryError(
      'older-format',
      `The data directory ${directory} has format ${format}; this release reads format ` +
        `${formatVersion} only. Use the release that wrote it, or choose another directory.`,
    );
  }
  if (format > formatVersion) {
    throw new DataDirectoryError(
      'newer-format',
      `The data directory ${directory} has format ${format}; this release reads up to ` +
        `format ${formatVersion}. Use the release that wrote it or a later one, or choose ` +
        'another directory.',
    );
  }
  return { isNew: found.state === 'new' };
}

function parseFormat(text: string): Format | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { product: name, format, state } = parsed as Partial<Format>;
  if (name !== product || format === undefined || !Number.isSafeInteger(format)) return undefined;
  if (format < 1 || (state !== undefined && state !== 'new')) return undefined;
  return parsed as Format;
}

function foreign(directory: string, names: readonly string[]): DataDirectoryError {
  const shown = names.slice(0, 5).join(', ');
  const rest = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return new DataDirectoryError(
    'foreign',
    `The directory ${directory} is not a data directory, and it is not empty: it holds ${shown}` +
      `${rest}. Choose an empty or a new directory.`,
  );
}
