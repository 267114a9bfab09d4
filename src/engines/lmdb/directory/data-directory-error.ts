import { raiseOpenFiles } from '../../../base/open-files.js';
import { messageOf } from '../../../base/thrown.js';

/**
 * Why a data directory was refused. `in-use`: another server owns it. `no-owner`: it was to be
 * joined, but has no owner. `newer-format`: a later release wrote it. `older-format`: an earlier
 * release wrote it in a format that is no longer supported. `foreign`: it holds other files.
 * `damaged`: its files cannot be read. `disk`: the disk failed or is full. `place`: a directory
 * cannot exist there, or this user may not use it. `unfinished`: it is a copy that has not ended.
 * `partitioned`: it is one of several stores that together have the data, and the other stores were
 * not named correctly. `moved`: its data are in another place by now.
 */
export type DataDirectoryProblem =
  | 'in-use'
  | 'no-owner'
  | 'newer-format'
  | 'older-format'
  | 'foreign'
  | 'damaged'
  | 'disk'
  | 'place'
  | 'unfinished'
  | 'partitioned'
  | 'moved';

/** The message is for people: it names the directory and what to do. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
  readonly reason: DataDirectoryProblem;

  constructor(reason: DataDirectoryProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** A living process owns the directory; its record is unknown while it starts. */
export function inUse(
  directory: string,
  owner: { readonly pid: number; readonly started: string } | undefined,
): DataDirectoryError {
  const by = owner === undefined ? 'another process' : `process ${owner.pid}`;
  const since = owner === undefined ? '' : ` (since ${owner.started})`;
  return new DataDirectoryError(
    'in-use',
    `The data directory ${directory} is in use by ${by}${since}. ` +
      'Stop it, or choose another directory with --location.',
  );
}

/** A living process owns the directory, and did not let this one open its data file. */
export function notLetIn(directory: string): DataDirectoryError {
  return new DataDirectoryError(
    'disk',
    `The process that owns the data directory ${directory} could not let another one open its data ` +
      `file: it may have too few open files or threads for that. ${raiseOpenFiles}, and start again.`,
  );
}

/** A living process may own the directory, and this one cannot connect to it. */
export function notReached(directory: string, error: unknown): DataDirectoryError {
  return new DataDirectoryError(
    'place',
    `The process that owns the data directory ${directory} cannot be asked to let another one open ` +
      `its data file: ${messageOf(error)}. Start as the user of that process if this one may not use its socket.`,
    { cause: error },
  );
}

export function noOwner(directory: string): DataDirectoryError {
  return new DataDirectoryError(
    'no-owner',
    `No process owns the data directory ${directory}, so that it could be joined.`,
  );
}
