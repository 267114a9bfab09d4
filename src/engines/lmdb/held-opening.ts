import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connectTo } from '../../base/lock-socket.js';
import { codeOf } from '../../base/thrown.js';
import { livingOwner } from './check/directory-check.js';
import { noOwner, notLetIn, notReached } from './directory/data-directory-error.js';
import { attach, openAgain, type Environment, type EnvironmentOptions } from './environment.js';
import { withinWait, type LockWaitOptions } from './lock-wait.js';
import { holdReply, holdRequest } from './hold-protocol.js';

/** An owner that ends its connection too early is closing, or has died. */
const attemptsMax = 3;
/** What a connection fails with when a process is short of open files, or has too much to do. */
const shortCodes = new Set<string | undefined>(['EMFILE', 'EAGAIN', 'ECONNREFUSED']);

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
  let refusal = notLetIn(directory);
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const owner = await livingOwner(directory);
    if (owner === undefined) throw noOwner(directory);
    const connection = await connectTo(directory, owner).catch((error: unknown) => {
      const isShort = shortCodes.has(codeOf(error));
      refusal = isShort ? notLetIn(directory) : notReached(directory, error);
    });
    if (connection === undefined) continue;
    refusal = notLetIn(directory);
    try {
      if (await withinWait(isHeld(connection), options)) {
        return attach(directory, options);
      }
    } finally {
      connection.destroy();
    }
  }
  throw refusal;
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
