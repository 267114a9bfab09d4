import { EntityNotFoundError } from './errors.js';

/** Runs a write of an entity that may be absent. False when it was. */
export async function writeIfPresent(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (error instanceof EntityNotFoundError) return false;
    throw error;
  }
}
