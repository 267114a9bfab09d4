import { readdir, stat } from 'node:fs/promises';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { codeOf } from '../../../base/thrown.js';
import { DataDirectoryError } from '../directory/data-directory-error.js';
import { isListening } from '../directory/lock-socket.js';
import { checkFileKinds, dataFile } from '../directory/file-kinds.js';
import { checkDataFile, type CheckOptions, type CheckProgress, type CheckReport } from './check.js';

/**
 * A larger data file is gone through at the start only if its last owner did not close it: without
 * the pages that hold entries otherwise.
 */
const fullCheckBytesMax = 1 << 30;
/** What a check reads before it lets others run, and tells how far it is. */
const pagesAtOnce = 1_000;
/** How often a file that changes while it is read is read again. */
const attemptsMax = 3;
/** What the engine notes while a directory has an owner. */
const ownerNote = 'owner';

/** What is known of a directory that may be opened. */
export interface IntactDirectory {
  /** Its last owner has not given it up: that one died, or is at its end. */
  readonly wasLeft: boolean;
}

export type ProgressListener = (progress: CheckProgress) => void;

/**
 * Makes sure that a data file can be opened and holds all that was written to it, before the engine
 * maps it: a damaged one could end the process, or have entries that are out of reach. Throws
 * `DataDirectoryError`. A directory that has an owner is left to that.
 */
export async function assertIntact(
  directory: string,
  options: { readonly isNew: boolean; readonly progress: ProgressListener },
): Promise<IntactDirectory> {
  if (endianness() === 'BE' || (await hasLivingOwner(directory))) return { wasLeft: false };
  const { isNew } = options;
  const path = join(directory, dataFile);
  const bytes = await sizeOf(path);
  if (bytes === 0 && isNew) return { wasLeft: false };
  if (bytes === 0) throw damaged(directory, { findings: ['it is missing or empty'], damages: 1 });
  const isLarge = bytes > fullCheckBytesMax;
  let report = await checkSettled(path, { entries: !isLarge, isNew }, options.progress);
  if (isLarge && report.damages === 0 && report.notes.has(ownerNote)) {
    report = await checkSettled(path, { entries: true }, options.progress);
  }
  if (report.damages > 0) throw damaged(directory, report);
  return { wasLeft: report.notes.has(ownerNote) };
}

/**
 * Reads all of the data file of a directory that no server uses. Throws `DataDirectoryError` when
 * there is one, or no data file.
 */
export async function checkDirectory(
  directory: string,
  progress: ProgressListener,
): Promise<CheckReport> {
  if (endianness() === 'BE') throw new Error('Data files are checked on other machines only.');
  if (await hasLivingOwner(directory)) {
    throw new DataDirectoryError(
      'in-use',
      `A server uses the data directory ${directory}. Stop it first, or check a copy.`,
    );
  }
  await checkFileKinds(directory);
  return checkSettled(join(directory, dataFile), { entries: true }, progress);
}

/** A file that somebody writes to meanwhile looks damaged; it is looked at again. */
async function checkSettled(
  path: string,
  options: CheckOptions,
  progress: ProgressListener,
): Promise<CheckReport> {
  for (let attempt = 1; ; attempt += 1) {
    const report = await check(path, options, progress);
    if (report.damages === 0 || attempt === attemptsMax) return report;
    const again = await check(path, { entries: false }, () => undefined);
    if (again.transaction === report.transaction) return report;
  }
}

async function check(
  path: string,
  options: CheckOptions,
  progress: ProgressListener,
): Promise<CheckReport> {
  const steps = checkDataFile(path, options);
  for (let pages = 1; ; pages += 1) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (pages % pagesAtOnce !== 0) continue;
    progress(step.value);
    await setImmediate();
  }
}

async function hasLivingOwner(directory: string): Promise<boolean> {
  const names = await readdir(directory);
  const sockets = names.filter((name) => /^owner-.*\.sock$/.test(name));
  const living = await Promise.all(sockets.map((name) => isListening(directory, name)));
  return living.includes(true);
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

function damaged(
  directory: string,
  { findings, damages }: Pick<CheckReport, 'findings' | 'damages'>,
): DataDirectoryError {
  const [first = ''] = findings;
  const more = damages > 1 ? `, and ${damages - 1} more` : '';
  return new DataDirectoryError(
    'damaged',
    `The data file ${join(directory, dataFile)} is damaged: ${first}${more}. Nothing was changed. ` +
      'Restore a backup of the data directory, or choose another one. What is damaged lists: ' +
      `tabularium check --location ${directory}`,
  );
}
