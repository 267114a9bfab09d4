import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connectTo } from '../../base/lock-socket.js';
import { livingOwner } from './check/directory-check.js';
import { noOwner, notLetIn } from './directory/data-directory-error.js';
import { attach, openAgain, type Environment, type EnvironmentOptions } from './environment.js';
import { withinWait, type LockWaitOptions } from './lock-wait.js';
import { holdReply, holdRequest } from './hold-protocol.js';

/** An owner that ends its connection too early is closing, or has died. */
const attemptsMax = 3;

/** Opens the environment of a directory that another process owns. Throws `DataDirectoryError`. */
export async function openBesideOwner(
  options: EnvironmentOptions & LockWaitOptions,
): Promise<Environment> {
  const { directory, sync } = options;
  const attachment = await attachHeld(options);
  try {
    return openAgain(directory, { sync });
  } finally {
    attachment.close();
  }
}

/**
 * Opens the data file while its owner keeps all processes from committing: see `OpeningHolds`. The
 * environment shares the file with it. It cannot be opened here, because it begins with a
 * transaction, which would wait for the end of that.
 */
async function attachHeld(
  options: EnvironmentOptions & LockWaitOptions,
): Promise<{ close(): void }> {
  const { directory } = options;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const owner = await livingOwner(directory);
    if (owner === undefined) throw noOwner(directory);
    const connection = await connectTo(directory, owner).catch(() => undefined);
    if (connection === undefined) continue;
    try {
      if (await withinWait(isHeld(connection), options, () => 'held by another process')) {
        return attach(directory, options);
      }
    } finally {
      connection.destroy();
    }
  }
  throw notLetIn(directory);
}

/** Asks the owner, and resolves to false when it ends the connection instead of an answer. */
async function isHeld(connection: Socket): Promise<boolean> {
  connection.on('error', () => undefined);
  connection.write(holdRequest);
  const over = new AbortController();
  const { signal } = over;
  const answer = once(connection, 'data', { signal }).then(
    ([bytes]) => String(bytes) === holdReply,
    () => false,
  );
  const end = once(connection, 'close', { signal }).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([answer, end]);
  } finally {
    over.abort();
  }
}
