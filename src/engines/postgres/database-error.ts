import { codeOf, messageOf } from '../../base/thrown.js';

/** The database cannot be used. The message says what to do. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';

  static of(error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error;
    const text = `The database cannot be used. ${messageOf(error)}${adviceFor(error)}`;
    return new DatabaseError(text, { cause: error });
  }
}

/** What to do, by the code of the database's error. */
const advice: Readonly<Record<string, string>> = {
  '28P01': '. Look at the password in its URL',
  '3D000': '. Make the database first: create database NAME',
  '42501': '. Let its user make the schema (grant create on database), or own it',
  '53300': '. Raise max_connections, or put a pooler between',
};

function adviceFor(error: unknown): string {
  if (/prepared statement/.test(messageOf(error))) {
    return '; a pooler that shares connections needs prepare=false in the URL';
  }
  const cause = error instanceof Error ? error.cause : undefined;
  return advice[codeOf(error) ?? codeOf(cause) ?? ''] ?? '';
}
