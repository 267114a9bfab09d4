import { codeOf, messageOf } from '../../base/thrown.js';
import { ContentWriteError } from '../errors.js';

const full: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** Runs work that changes files. Errors of the system become a `ContentWriteError`. */
export async function writing<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    const message = `The content could not be written: ${messageOf(error)}`;
    throw new ContentWriteError(message, { isFull: full.has(codeOf(error)), cause: error });
  }
}
