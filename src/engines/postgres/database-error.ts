import { messageOf } from '../../base/thrown.js';

/** The database cannot be used. The message says what to do. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';

  static of(error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error;
    const message = messageOf(error);
    const advice = /prepared statement/.test(message)
      ? '; a pooler that shares connections needs prepare=false in the URL'
      : '';
    return new DatabaseError(`The database cannot be used. ${message}${advice}`, { cause: error });
  }
}
