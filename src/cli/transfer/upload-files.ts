import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { blobNameProblem, type BlobLocation, type NamedBlob } from '../arguments/blob-location.js';
import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

/** A file and the blob that it becomes. */
export interface PlannedUpload {
  /** `-` is standard input. */
  readonly path: string;
  readonly blob: NamedBlob;
  /** Bytes at the time of the plan; undefined for standard input. */
  readonly size: number | undefined;
}

export interface UploadPlan {
  readonly uploads: readonly PlannedUpload[];
  /** Paths that are neither files nor directories, such as links. */
  readonly skipped: readonly string[];
}

/** Files of one command. */
const uploadFilesMax = 1_000_000;

/**
 * Plans the blob of each path. A single file becomes the blob that the location names. Several
 * files, or a location that ends with a slash or names no blob, give blobs with the names of the
 * files; files of a directory are named by their paths in it. Only directories are read.
 *
 * @throws {UsageError} for paths that cannot become blobs of this place
 * @throws {CommandFailure} for what is absent or cannot be read
 */
export async function planUploads(
  paths: readonly string[],
  place: BlobLocation,
  { recursive }: { readonly recursive: boolean },
): Promise<UploadPlan> {
  const uploads: PlannedUpload[] = [];
  const skipped: string[] = [];
  const { container, blob: given = '' } = place;
  const isFolder = given === '' || given.endsWith('/');
  const add = (path: string, name: string, size: number | undefined): void => {
    const problem = blobNameProblem(name);
    if (problem !== undefined) throw new UsageError(`${path} cannot be a blob. ${problem}`);
    if (uploads.length >= uploadFilesMax) {
      throw new CommandFailure(`There are more than ${uploadFilesMax} files: put them in parts.`);
    }
    uploads.push({ path, blob: { container, blob: name }, size });
  };
  for (const path of paths) {
    const facts = path === '-' ? undefined : await factsOf(path);
    if (facts?.isDirectory() === true) {
      if (!recursive) throw new UsageError(`${path} is a directory: use --recursive.`);
      if (!isFolder) throw new UsageError(`${path} is a directory: end the name with a slash.`);
      for await (const file of filesBelow(path, '', skipped)) {
        add(file.path, `${given}${file.name}`, (await factsOf(file.path)).size);
      }
    } else if (!isFolder && paths.length > 1) {
      throw new UsageError(`Several files cannot become one blob: end ${given} with a slash.`);
    } else if (path === '-' && isFolder) {
      throw new UsageError('Standard input has no name: name the blob, as in container/name.');
    } else {
      add(path, isFolder ? given + basename(resolve(path)) : given, facts?.size);
    }
  }
  return { uploads, skipped };
}

interface FoundFile {
  readonly path: string;
  /** The path in the directory, with slashes. */
  readonly name: string;
}

async function* filesBelow(
  directory: string,
  prefix: string,
  skipped: string[],
): AsyncGenerator<FoundFile> {
  for (const entry of await entriesOf(directory)) {
    const path = join(directory, entry.name);
    const name = prefix + entry.name;
    if (entry.isDirectory()) yield* filesBelow(path, `${name}/`, skipped);
    else if (entry.isFile()) yield { path, name };
    else skipped.push(path);
  }
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    throw unreadableName(directory, error) ?? cannot('be read', directory, error);
  }
}

async function factsOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    const isAbsent = codeOf(error) === 'ENOENT';
    throw (
      unreadableName(path, error) ??
      (isAbsent
        ? new CommandFailure(`There is no file ${path}.`)
        : cannot('be looked at', path, error))
    );
  }
}

/** The character that replaces bytes that are no UTF-8. */
const unreadable = '\ufffd';

/** The error for a file that is listed but cannot be found, because its name is not valid UTF-8. */
function unreadableName(path: string, error: unknown): CommandFailure | undefined {
  if (codeOf(error) !== 'ENOENT' || !path.includes(unreadable)) return undefined;
  return new CommandFailure(`The name of ${path} is not UTF-8: rename it.`);
}

function cannot(what: string, path: string, error: unknown): CommandFailure {
  return new CommandFailure(`${path} cannot ${what}: ${messageOf(error)}`);
}
