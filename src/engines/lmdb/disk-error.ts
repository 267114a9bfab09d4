import { getSystemErrorMap } from 'node:util';
import { raiseOpenFiles, raiseSystemOpenFiles } from '../../base/open-files.js';
import { codeOf, messageOf } from '../../base/thrown.js';
import { DataDirectoryError } from './directory/data-directory-error.js';

const startAgain = 'Then start again; what was acknowledged is kept.';
const makeRoom = `Make room there. ${startAgain}`;
/** Advice for people about disk errors. */
const remedies: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', makeRoom],
  ['EDQUOT', makeRoom],
  ['EFBIG', `Raise the limit on the size of files. ${startAgain}`],
  ['EROFS', `Mount it so that it can be written. ${startAgain}`],
  ['EIO', `Make room there, or repair the disk: see what the system says of it. ${startAgain}`],
  ['EMFILE', `${raiseOpenFiles}. ${startAgain}`],
  ['ENFILE', `${raiseSystemOpenFiles}. ${startAgain}`],
]);

const choose = 'Choose another directory.';
const noDirectory = `it is, or is in, something that is no directory. ${choose}`;
const notAllowed = `this user may not write there. Allow it, or choose another directory.`;
/** Problems of a directory's location, by error code. */
const placeProblems: ReadonlyMap<string, string> = new Map([
  ['ENOENT', `it cannot be made there. ${choose}`],
  ['EEXIST', noDirectory],
  ['ENOTDIR', noDirectory],
  ['EACCES', notAllowed],
  ['EPERM', notAllowed],
  ['ENAMETOOLONG', 'its name is too long. Choose a shorter one.'],
  ['ELOOP', `it is behind links that lead in a circle. ${choose}`],
]);

/** The name of a system error that the package reports as a number. */
function systemCodeOf(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code !== undefined) return code;
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') {
    return undefined;
  }
  return getSystemErrorMap().get(-error.code)?.[0];
}

/** The message of a system error, without the package's context; for people. */
export function reasonText(error: unknown): string {
  const code = systemCodeOf(error);
  if (code === undefined || codeOf(error) !== undefined) return messageOf(error);
  const [words = ''] = messageOf(error).split(': ', 1);
  // LMDB says the same of a write that was cut off by the end of the space.
  return `${words} (${code}${code === 'EIO' ? ', or the disk is full' : ''})`;
}

/** A failed start as an error that tells people how to fix the disk or the location. */
export function startError(directory: string, error: unknown): unknown {
  if (error instanceof DataDirectoryError) return error;
  const code = systemCodeOf(error) ?? '';
  const cannot = `The data directory ${directory} cannot be used`;
  const remedy = remedies.get(code);
  if (remedy !== undefined) {
    const text = `${cannot}: ${reasonText(error)}. ${remedy}`;
    return new DataDirectoryError('disk', text, { cause: error });
  }
  const problem = placeProblems.get(code);
  if (problem === undefined) return error;
  const text = `${cannot}: ${problem} The system says: ${reasonText(error)}`;
  return new DataDirectoryError('place', text, { cause: error });
}
