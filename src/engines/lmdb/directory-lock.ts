import type { Bytes } from '../../base/bytes.js';
import { systemRandomness } from '../../base/randomness.js';
import type { Clock } from '../../base/clock.js';
import { DataDirectoryError } from './directory/data-directory-error.js';
import type { Environment } from './environment.js';
import { sealed } from './rows/record.js';
import { writeTransaction } from './write-transaction.js';
import { writeWithinWait, type LockWaitOptions } from './lock-wait.js';
import type { LockSocket } from './directory/lock-socket.js';
import { isListening, listenOn, removeSocket } from './directory/lock-socket.js';

/** How often a lock whose owner has died is tried to be taken, against others who try it too. */
const attemptsMax = 16;
const ownerKey = Buffer.from('owner');
const noVersion = 1;

/** Who owns a data directory, as written in its environment. `token` is never used twice. */
interface Owner {
  readonly token: string;
  readonly pid: number;
  readonly started: string;
  readonly socket: string;
}

export interface DirectoryLock {
  /**
   * Whether the owner is still who it was. For use inside a write transaction: an owner whose
   * socket was removed looks dead to others, and must not write beside its successor.
   */
  isHeld(): boolean;
  /** The same for another thread: what `isOwner` compares. */
  readonly record: Bytes;
  release(): Promise<void>;
  /** Gives up without a transaction, for an environment that takes none; others find it dead. */
  abandon(): Promise<void>;
}

/**
 * Makes this process the owner of the data directory, or says who is.
 *
 * The owner's record is kept in the environment, and the owner listens on a socket that the record
 * names. A socket closes with its process, however that ends, so an owner whose socket refuses is
 * dead; process ids are only shown to people. The record of a dead owner is replaced inside a write
 * transaction, and only if it is still the record that was found dead: of any number of processes
 * that try, one succeeds, and the others then find a living owner. The lock of the data file may
 * be held by somebody else meanwhile: see `writeWithinWait`.
 */
export async function lockDirectory(
  environment: Environment,
  options: LockWaitOptions & { readonly clock: Clock },
): Promise<DirectoryLock> {
  const { directory, clock } = options;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const found = readOwner(environment);
    if (found !== undefined && (await isListening(directory, found.socket))) {
      throw inUse(directory, found);
    }
    const token = systemRandomness.uuid();
    const socket = await listenOn(directory, token);
    const started = new Date(clock.nowMicros() / 1000).toISOString();
    const owner: Owner = { token, pid: process.pid, started, socket: socket.name };
    const take = (): boolean => replaceOwner(environment, found, owner);
    if (await orClosed(socket, writeWithinWait(environment, options, take))) {
      if (found !== undefined) await removeSocket(directory, found.socket);
      return {
        ...held(environment, owner),
        release: () => release(environment, owner, socket),
        abandon: () => socket.close(),
      };
    }
    await socket.close();
  }
  throw new DataDirectoryError(
    'in-use',
    `The data directory ${directory} is being taken by other processes. Try again later.`,
  );
}

/** Succeeds when some process owns the directory now. */
export async function joinDirectory(
  environment: Environment,
  directory: string,
): Promise<DirectoryLock> {
  const found = readOwner(environment);
  if (found === undefined || !(await isListening(directory, found.socket))) {
    throw new DataDirectoryError(
      'no-owner',
      `No process owns the data directory ${directory}, so that it could be joined.`,
    );
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

/** A token is never used twice. Every group of commits asks, so that the record is not parsed. */
function held(environment: Environment, owner: Owner): Pick<DirectoryLock, 'isHeld' | 'record'> {
  const record = Buffer.from(sealed(ownerKey, noVersion, recordOf(owner)));
  return { record, isHeld: () => isOwner(environment, record) };
}

/** Whether the record of the owner is still this one. For use inside a write transaction. */
export function isOwner({ meta }: Environment, record: Bytes): boolean {
  return meta.holds(ownerKey, record);
}

/** Gives the socket back when the work fails. */
async function orClosed<Result>(socket: LockSocket, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    await socket.close();
    throw error;
  }
}

/** Whether the record was still `expected` and is `next` now. For use in a write transaction. */
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

function recordOf(owner: Owner): Bytes {
  return Buffer.from(JSON.stringify(owner));
}

function parseOwner(bytes: Bytes | undefined): Owner | undefined {
  if (bytes === undefined) return undefined;
  // Written by this file alone, in a transaction, so never half.
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as Owner;
}

function inUse(directory: string, owner: Owner): DataDirectoryError {
  return new DataDirectoryError(
    'in-use',
    `The data directory ${directory} is in use by process ${owner.pid} (since ${owner.started}). ` +
      'Stop it, or choose another directory with --location.',
  );
}
