/** The fields of a notice or a warning that no language changes. */
export interface ToldNotice {
  /** SQLSTATE. */
  readonly code?: string | undefined;
  /** The source file of the server, and its function, that have told it. */
  readonly file?: string | undefined;
  readonly routine?: string | undefined;
}

/** The code of a message that is no warning. */
const noticeCode = '00000';
/** An administrator ends the process; it also warns when its commit waits for a standby. */
const endCodes = '57P';
/** The source of the server in which commits wait for standbys. */
const waitFile = 'syncrep.c';

/**
 * Whether a warning may say that a commit was acknowledged before its standby has it. PostgreSQL
 * has no code of its own for that (01000, as any warning of a function has, or 57P01), and
 * translates the text; so the place in its source decides. A warning without a place counts.
 */
export function mayBeOfCommit({ code = '', file, routine }: ToldNotice): boolean {
  if (code === noticeCode) return false;
  if (code.startsWith(endCodes) || file === undefined || routine === undefined) return true;
  return file.endsWith(waitFile) || routine.startsWith('SyncRep');
}
