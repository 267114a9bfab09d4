import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Makes the entries of new files in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot open a directory, and does not need it to be synced.
  if (process.platform === 'win32') return;
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
