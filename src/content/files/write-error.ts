import { raiseOpenFiles, raiseSystemOpenFiles } from '../../base/open-files.js';
import { codeOf, messageOf } from '../../base/thrown.js';
import { ContentWriteError } from '../errors.js';

const full: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

const putBack =
  'Mount the disk of the folder, or put it back as it was: the server then goes on by itself.';
const allow = 'Make the folder writable for this user: the server then goes on by itself.';
/** Advice for people, by the code of the error. */
const remedies: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOENT', putBack],
  ['ENOTDIR', putBack],
  ['EROFS', 'Mount its disk so that it can be written: the server then goes on by itself.'],
  ['EACCES', allow],
  ['EPERM', allow],
  ['EMFILE', `${raiseOpenFiles}, and start the server again.`],
  ['ENFILE', `${raiseSystemOpenFiles}.`],
]);

/** Runs work that changes files. Errors of the system become a `ContentWriteError`. */
export async function writing<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    const remedy = remedies.get(codeOf(error));
    const advice = remedy === undefined ? '' : `. ${remedy}`;
    const message = `The content could not be written: ${messageOf(error)}${advice}`;
    throw new ContentWriteError(message, { isFull: full.has(codeOf(error)), cause: error });
  }
}
