import { DatabaseError } from 'pg';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import { messageOf } from '../../base/thrown.js';

/** `begin_batch` raises it for a session that was closed. The batch was not applied. */
export const sessionClosedCode = 'TB001';

/** The session was closed, as a transaction of plain statements finds out. */
export class SessionClosedError extends Error {
  override readonly name = 'SessionClosedError';

  constructor() {
    super('The session was closed.');
  }
}

/** The database would acknowledge a batch before it is on disk. The batch was not applied. */
export class NotDurableError extends Error {
  override readonly name = 'NotDurableError';

  constructor() {
    super('The database has been set to acknowledge commits before they are on disk.');
  }
}

/** Serialization failure, deadlock, lock not available: the same may succeed. */
const retryableCodes = new Set(['40001', '40P01', '55P03']);

/** The transaction is read-only: the server has become a standby. */
const readOnlyCode = '25006';

/**
 * Errors behind which nobody knows what became of the statement, whatever severity they have: an
 * ambiguous result, and the end of a transaction whose client was silent or that took too long,
 * which ends its connection.
 */
const ambiguousCodes = new Set(['40003', '25P03', '25P04']);
/**
 * The beginnings of such codes: connection exceptions, which a pooler tells of its own connection
 * to the server too, and the end of the server or of one process of it, which comes between a
 * commit and its answer as well.
 */
const ambiguousClasses = ['08', '57P'];
/**
 * The only severity behind which a statement did nothing. With any other the server has ended the
 * connection, or itself: a log that cannot be synced at a commit does, and the commit may be there
 * after its recovery. Any other text counts as one of those, since it may name one in the language
 * of the server, where the error has no severity in English.
 */
const statementSeverity = 'ERROR';

/**
 * What an error of a statement means. `lost`: nobody knows what became of the statement. `away`: it
 * did nothing, and another server may be the primary now. `again`: it did nothing and may succeed.
 * `refused`: it did nothing, if its connection goes on; when that has ended too, it is as `lost`.
 */
export type FailureKind = 'lost' | 'away' | 'again' | 'session-closed' | 'refused';

export function failureOf(error: unknown): FailureKind {
  if (error instanceof SessionClosedError) return 'session-closed';
  // A new connection finds out what is wrong, and waits until it is set right.
  if (error instanceof NotDurableError) return 'away';
  if (!(error instanceof DatabaseError)) return 'lost';
  const { code = '', severity } = error;
  if (code === sessionClosedCode) return 'session-closed';
  if (retryableCodes.has(code)) return 'again';
  if (code === readOnlyCode) return 'away';
  const isAmbiguous =
    ambiguousCodes.has(code) || ambiguousClasses.some((each) => code.startsWith(each));
  return isAmbiguous || severity !== statementSeverity ? 'lost' : 'refused';
}

/** Whether the failure is temporary: the same call may succeed later. */
export function isAway(error: unknown): boolean {
  const kind = failureOf(error);
  return kind === 'lost' || kind === 'away' || kind === 'again';
}

/** The error for a call that did nothing although it was tried several times. */
export function unavailable(error: unknown): StoreUnavailableError {
  const text = `${whyUnavailable(error)}: ${messageOf(error)}`;
  return new StoreUnavailableError(text, { cause: error });
}

function whyUnavailable(error: unknown): string {
  if (error instanceof NotDurableError) return 'No commit was durable in any attempt';
  return failureOf(error) === 'again'
    ? 'The database ended each attempt because of other transactions'
    : 'Connections to the database are lost again and again';
}

/**
 * Whether a single commit of a batch may be the reason of its failure, so that the others succeed
 * without it. Nothing of the batch was applied.
 */
export function mayBeOfOneCommit(error: unknown): boolean {
  if (error instanceof StoreWriteError) return true;
  return error instanceof StoreUnavailableError && failureOf(error.cause) === 'again';
}

/** The error for a commit that the database refused. */
export function refusal(error: unknown): StoreWriteError {
  const text = `The commit could not be written: the database refused it: ${messageOf(error)}`;
  return new StoreWriteError(text, { cause: error });
}
