import { readdir, stat } from 'node:fs/promises';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { sleep } from '../../../base/async/sleep.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { codeOf } from '../../../base/thrown.js';
import { DataDirectoryError, inUse } from '../directory/data-directory-error.js';
import { isListening } from '../../../base/lock-socket.js';
import { fileIdentityAt } from '../directory/file-identity.js';
import { checkFileKinds, dataFile } from '../directory/file-kinds.js';
import { parseOwner, wasSound, type Owner } from '../directory/owner.js';
import { toCome } from './walk.js';
import { checkDataFile, type CheckOptions, type CheckProgress, type CheckReport } from './check.js';

/**
 * At a start, a larger data file is checked completely only if its last two owners did not close
 * it, the last one was not sound, or it is a copy of the file that the last one had open. Otherwise
 * pages with entries are not read.
 */
const fullCheckBytesMax = 1 << 30;
/** Pages read before the check yields and reports progress. */
const pagesAtOnce = 1_000;
/** Attempts when a file changes while it is read. */
const attemptsMax = 3;
/** Looks for the record of a process that listens, about two seconds. */
const looksMax = 20;
const betweenLooksMs = 100;
/** The engine's record of the owner. */
const ownerNote = 'owner';

/** The state of a directory that may be opened. */
export interface IntactDirectory {
  /** The last owner has not released it: it died, or is ending now. */
  readonly wasLeft: boolean;
  /** All of the data file was read, so the system has it in its cache. */
  readonly wasRead: boolean;
}

export type ProgressListener = (progress: CheckProgress) => void;

/**
 * Checks that a data file can be opened and is complete before the engine maps it: damage could
 * crash the process or make entries unreachable. Throws `DataDirectoryError`, also when a living
 * process owns the directory: only who joins it may open its data file, as `openBesideOwner`.
 */
export async function assertIntact(
  directory: string,
  options: {
    readonly isNew: boolean;
    readonly progress: ProgressListener;
    /** Between looks for the record of an owner. Nothing else may keep the process alive then. */
    readonly timers?: Timers;
  },
): Promise<IntactDirectory> {
  const { isNew, timers = holdingTimers } = options;
  await assertNoLivingOwner(directory, timers);
  if (endianness() === 'BE') return { wasLeft: false, wasRead: false };
  const path = join(directory, dataFile);
  const bytes = await sizeOf(path);
  if (bytes === 0 && isNew) return { wasLeft: false, wasRead: true };
  if (bytes === 0) throw damaged(directory, { findings: ['it is missing or empty'], damages: 1 });
  let wasRead = bytes <= fullCheckBytesMax;
  let report = await checkSettled(path, { entries: wasRead, isNew }, options.progress);
  const owner = report.notes.get(ownerNote);
  const isTrusted = owner === undefined || wasSound(owner, fileIdentityAt(path));
  if (!wasRead && report.damages === 0 && !isTrusted) {
    report = await checkSettled(path, { entries: true }, options.progress);
    wasRead = true;
  }
  if (report.damages > 0) throw damaged(directory, report);
  return { wasLeft: report.notes.has(ownerNote), wasRead };
}

/**
 * Checks the whole data file of a directory that no server uses. Throws `DataDirectoryError` when a
 * server uses it, or when there is no data file. The report has the value
 * at the key `wanted`.
 */
export async function checkDirectory(
  directory: string,
  progress: ProgressListener,
  options: Pick<CheckOptions, 'wanted'> = {},
): Promise<CheckReport> {
  if (endianness() === 'BE') throw new Error('Data files are checked on other machines only.');
  if ((await livingOwner(directory)) !== undefined) {
    throw new DataDirectoryError(
      'in-use',
      `A server uses the data directory ${directory}. Stop it first, or check a copy.`,
    );
  }
  await checkFileKinds(directory);
  return checkSettled(join(directory, dataFile), { ...options, entries: true }, progress);
}

/** A file that changes during the check looks damaged, so it is checked again. */
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

/** The name of the socket on which the owner of the directory listens, if it is alive. */
export async function livingOwner(directory: string): Promise<string | undefined> {
  const names = await readdir(directory);
  const sockets = names.filter((name) => /^owner-.*\.sock$/.test(name));
  const living = await Promise.all(sockets.map((name) => isListening(directory, name)));
  const found = sockets.find((_, index) => living[index]);
  if (found !== undefined) return found;
  // Where the directory can have no sockets, only the record names it.
  const recorded = (await recordedOwner(directory))?.socket;
  if (recorded === undefined || sockets.includes(recorded)) return undefined;
  return (await isListening(directory, recorded)) ? recorded : undefined;
}

/** A process that starts or ends listens for a moment without a record. */
async function assertNoLivingOwner(directory: string, timers: Timers): Promise<void> {
  for (let look = 1; (await livingOwner(directory)) !== undefined; look += 1) {
    const owner = await recordedOwner(directory);
    if (owner !== undefined || look === looksMax) throw inUse(directory, owner);
    await sleep(timers, betweenLooksMs);
  }
}

/** The record of the owner as the file has it; undefined as well when it cannot be read. */
async function recordedOwner(directory: string): Promise<Owner | undefined> {
  const path = join(directory, dataFile);
  if (endianness() === 'BE' || (await sizeOf(path)) === 0) return undefined;
  const report = await checkSettled(path, { entries: false }, () => undefined);
  return parseOwner(report.notes.get(ownerNote));
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
  const copied = findings.some((finding) => finding.includes(toCome))
    ? ' A copy made while a server wrote looks like this: stop the server, and copy again.'
    : '';
  return new DataDirectoryError(
    'damaged',
    `The data file ${join(directory, dataFile)} is damaged: ${first}${more}. Nothing was changed.` +
      `${copied} ` +
      'Restore a backup of the data directory, or choose another one. What is damaged lists: ' +
      `tabularium check --location ${directory}`,
  );
}
