import { EntityExistsError } from './errors.js';

/** Runs an insert. Undefined when an entity with its keys exists. */
export async function unlessPresent<T>(insert: () => Promise<T>): Promise<T | undefined> {
  try {
    return await insert();
  } catch (error) {
    if (error instanceof EntityExistsError) return undefined;
    throw error;
  }
}
