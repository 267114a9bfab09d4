import { TableNotFoundError } from './errors.js';

/** What a request gives; undefined where there is no such table. */
export async function ifTableExists<R>(send: () => Promise<R>): Promise<R | undefined> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof TableNotFoundError) return undefined;
    throw error;
  }
}
