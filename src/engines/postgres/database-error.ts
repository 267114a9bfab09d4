import { messageOf } from '../../base/thrown.js';

/** The database cannot be used. The message says what to do. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';

  static of(error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error;
    return new DatabaseError(`The database cannot be used. ${messageOf(error)}`, { cause: error });
  }
}
