import { codeOf, messageOf } from '../../base/thrown.js';
import { StoreUnavailableError } from '../../kv/errors.js';

/** The database cannot be used. The message says what to do. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';

  static of(error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error;
    // With several hosts, the text already has advice for each.
    const what = error instanceof StoreUnavailableError ? error.message : reasonOf(error);
    return new DatabaseError(`The database cannot be used. ${what}`, { cause: error });
  }
}

const unprepare = '. A pooler that shares connections needs prepare=false in the URL';

/**
 * A prepared statement is there already, or is not there: connections share processes of the
 * database.
 */
export const preparedCodes: readonly string[] = ['42P05', '26000'];

/** The database has as many connections as it takes. It serves those. */
export const fullCode = '53300';

/** Advice for people, by the code of the error of the database or of the connection. */
const advice: Readonly<Record<string, string>> = {
  '28P01': '. Look at the password in its URL',
  '3D000': '. Make the database first: create database NAME',
  '42501': '. Let its user make the schema (grant create on database), or own it',
  [fullCode]: '. Raise max_connections, or put a pooler between',
  ECONNREFUSED: '. Start it, or look at the host and the port in its URL',
  ENOTFOUND: '. Look at the host in its URL',
  ...Object.fromEntries(preparedCodes.map((code) => [code, unprepare])),
};

/** The text of an error of the database or of the connection to it, with advice. */
export function reasonOf(error: unknown): string {
  return `${messageOf(error)}${advice[codeOf(error) ?? ''] ?? ''}`;
}
