import { join } from 'node:path';
import type { Bytes } from '../../base/bytes.js';
import { systemRandomness } from '../../base/randomness.js';
import type { Clock } from '../../base/clock.js';
import { DataDirectoryError, inUse, noOwner } from './directory/data-directory-error.js';
import { fileIdentityAt } from './directory/file-identity.js';
import { dataFile } from './directory/file-kinds.js';
import { parseOwner, recordOf, type Owner } from './directory/owner.js';
import type { Environment } from './environment.js';
import { sealed } from './rows/record.js';
import { writeTransaction } from './write-transaction.js';
import { writeWithinWait, type LockWaitOptions } from './lock-wait.js';
import type { LockSocket } from '../../base/lock-socket.js';
import { isListening, listenOn, removeSocket } from '../../base/lock-socket.js';
import { OpeningHolds } from './opening-holds.js';

/** Attempts to take over a lock whose owner has died, against competitors. */
const attemptsMax = 16;
const ownerKey = Buffer.from('owner');
const noVersion = 1;

/** What the new owner knows about the data file. */
export interface DataFileState {
  /** Each commit will be synced. */
  readonly isDurable: boolean;
  /** All of the file was read and found intact. */
  readonly wasRead: boolean;
}

export interface DirectoryLock {
  /**
   * True while the owner record is unchanged. For use inside a write transaction: an owner whose
   * socket was removed looks dead to others and must not write beside its successor.
   */
  isHeld(): boolean;
  /** The owner record, for another thread; see `isOwner`. */
  readonly record: Bytes;
  release(): Promise<void>;
  /**
   * Releases the socket without a transaction, when the environment accepts none. Others then find
   * the owner dead.
   */
  abandon(): Promise<void>;
}

/**
 * Makes this process the owner of the data directory, or reports the current owner.
 *
 * The owner record is kept in the environment and names a socket on which the owner listens. A
 * socket closes with its process, however that ends, so an owner whose socket refuses connections
 * is dead; process ids are only shown to people. The record of a dead owner is replaced inside a
 * write transaction, and only if it is unchanged: of several competing processes one succeeds, and
 * the others find a living owner. Another process may hold the lock of the data file meanwhile: see
 * `writeWithinWait`.
 */
export async function lockDirectory(
  environment: Environment,
  options: LockWaitOptions & DataFileState & { readonly clock: Clock },
): Promise<DirectoryLock> {
  const { directory, clock, isDurable, wasRead } = options;
  const { timers } = options;
  const file = fileIdentityAt(join(directory, dataFile));
  const holds = new OpeningHolds({ directory, sync: isDurable, timers });
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const found = readOwner(environment);
    if (found !== undefined && (await isListening(directory, found.socket))) {
      throw inUse(directory, found);
    }
    const token = systemRandomness.uuid();
    const socket = await listenOn(directory, token, holds.serve);
    const started = new Date(clock.nowMicros() / 1000).toISOString();
    const isSound = isDurable && (wasRead || found === undefined);
    const owner: Owner = { token, pid: process.pid, started, socket: socket.name, isSound, file };
    const take = (): boolean => replaceOwner(environment, found, owner);
    if (await orClosed(socket, writeWithinWait(environment, options, take))) {
      if (found !== undefined) await removeSocket(directory, found.socket);
      return {
        ...held(environment, owner),
        async release() {
          await release(environment, owner, socket);
          await holds.close();
        },
        async abandon() {
          await socket.close();
          await holds.close();
        },
      };
    }
    await socket.close();
  }
  throw new DataDirectoryError(
    'in-use',
    `The data directory ${directory} is being taken by other processes. Try again later.`,
  );
}

/** Succeeds when a living process owns the directory. */
export async function joinDirectory(
  environment: Environment,
  directory: string,
): Promise<DirectoryLock> {
  const found = readOwner(environment);
  if (found === undefined || !(await isListening(directory, found.socket))) {
    throw noOwner(directory);
  }
  return {
    ...held(environment, found),
    release: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

async function release(environment: Environment, owner: Owner, socket: LockSocket): Promise<void> {
  const give = () => replaceOwner(environment, owner, undefined);
  try {
    await writeTransaction(environment.root, give);
  } finally {
    await socket.close();
  }
}

function readOwner({ meta }: Environment): Owner | undefined {
  try {
    return parseOwner(meta.get(ownerKey)?.value);
  } finally {
    meta.endRead();
  }
}

/** Compares the raw record, because every group of commits calls this. A token is never reused. */
function held(environment: Environment, owner: Owner): Pick<DirectoryLock, 'isHeld' | 'record'> {
  const record = Buffer.from(sealed(ownerKey, noVersion, recordOf(owner)));
  return { record, isHeld: () => isOwner(environment, record) };
}

/** True while the owner record is this one. For use inside a write transaction. */
export function isOwner({ meta }: Environment, record: Bytes): boolean {
  return meta.holds(ownerKey, record);
}

/** Runs work and closes the socket when it fails. */
async function orClosed<Result>(socket: LockSocket, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    await socket.close();
    throw error;
  }
}

/** Replaces the owner record if it is still `expected`. For use inside a write transaction. */
function replaceOwner(
  { meta }: Environment,
  expected: Owner | undefined,
  next: Owner | undefined,
): boolean {
  const found = parseOwner(meta.get(ownerKey)?.value);
  if (found?.token !== expected?.token) return false;
  if (next === undefined) meta.remove(ownerKey);
  else meta.put(ownerKey, recordOf(next), noVersion);
  return true;
}
