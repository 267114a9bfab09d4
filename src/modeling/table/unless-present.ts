import { EntityExistsError } from './errors.js';

/** Runs an insert. Undefined when there was an entity with its keys, and nothing was written. */
export async function unlessPresent<T>(insert: () => Promise<T>): Promise<T | undefined> {
  try {
    return await insert();
  } catch (error) {
    if (error instanceof EntityExistsError) return undefined;
    throw error;
  }
}
