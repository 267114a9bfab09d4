import { DatabaseError } from 'pg';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import { messageOf } from '../../base/thrown.js';

/** `begin_batch` raises it for a session that was closed. The batch was not applied. */
export const sessionClosedCode = 'TB001';

/** A transaction of plain statements found its session closed. */
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

/**
 * Serialization failure, deadlock, lock not available: the same statement may succeed when it is
 * sent again.
 */
const retryableCodes = new Set(['40001', '40P01', '55P03']);

/** The transaction is read-only: the server has become a standby. */
const readOnlyCode = '25006';

/**
 * Errors after which the outcome of the statement is unknown, whatever their severity: an ambiguous
 * result, and a transaction that the database ended, with its connection, because its client was
 * silent or it took too long.
 */
const ambiguousCodes = new Set(['40003', '25P03', '25P04']);
/**
 * The first characters of further such codes. 08: connection exceptions, which a pooler also
 * reports for its own connection to the server. 57P: the server or one of its processes ended,
 * perhaps between a commit and its answer.
 */
const ambiguousClasses = ['08', '57P'];
/**
 * The only severity after which a statement certainly did nothing. With any other one the server
 * has ended the connection or itself. It does so when it cannot sync its log at a commit, which may
 * be there after recovery. An unknown text counts as such a severity, because old servers send it
 * in their own language.
 */
const statementSeverity = 'ERROR';

/**
 * What an error of a statement means. `lost`: the outcome of the statement is unknown. `away`: the
 * statement did nothing, and another server may be the primary now. `again`: it did nothing and may
 * succeed when repeated. `refused`: it did nothing, provided that the connection still works;
 * otherwise this counts as `lost`.
 */
export type FailureKind = 'lost' | 'away' | 'again' | 'session-closed' | 'refused';

export function failureOf(error: unknown): FailureKind {
  if (error instanceof SessionClosedError) return 'session-closed';
  // A new connection checks the settings, and waits until they are corrected.
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
 * Whether a single commit may have made its batch fail, so that the others succeed without it.
 * Nothing of the batch was applied.
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
