import type { Clock } from '../../base/clock.js';
import { isListening, listenOn, removeSocket, type LockSocket } from '../../base/lock-socket.js';
import { asBuffer } from '../../base/bytes.js';
import { codeOf } from '../../base/thrown.js';
import type { Randomness } from '../../base/randomness.js';
import type { ContentFiles } from './content-files.js';
import { isSession } from './extent-place.js';
import { writeWholeFile } from './whole-file.js';

/** The folder that has a file for each session that lives, or died. */
export const sessionsFolder = 'sessions';
const sessionBytes = 8;
/** The session lives, or nobody has noticed yet that it does not. */
const openEnding = '.open';
/** The session has died, and its extents are suspects. */
const leftEnding = '.left';
const unfinishedEnding = '.new';
const recordBytesMax = 4096;

/** How processes see that each other live. */
export interface Liveness {
  /** Shows that this process lives, as long as it does. */
  listen(token: string): Promise<LockSocket>;
  /** Whether a process lives that listens there. Also true when that is uncertain. */
  isListening(name: string): Promise<boolean>;
  /** Removes what a dead process has left. */
  remove(name: string): Promise<void>;
}

/** By sockets in a folder, which end with their processes. */
export function socketLiveness(folder: string): Liveness {
  return {
    listen: (token) => listenOn(folder, token),
    isListening: (name) => isListening(folder, name),
    remove: (name) => removeSocket(folder, name),
  };
}

export interface SessionsOptions {
  readonly files: ContentFiles;
  readonly liveness: Liveness;
  readonly clock: Pick<Clock, 'nowMicros'>;
  readonly randomness: Randomness;
}

/** What a session notes of itself. */
interface SessionRecord {
  readonly pid: number;
  readonly started: string;
  readonly socket: string;
}

/** The sessions of a content store, one of which is that of this opening. */
export class Sessions {
  /** The name of this session; it is not used again. */
  readonly own: string;
  readonly #files: ContentFiles;
  readonly #liveness: Liveness;
  readonly #socket: LockSocket;

  private constructor({ files, liveness }: SessionsOptions, own: string, socket: LockSocket) {
    this.own = own;
    this.#files = files;
    this.#liveness = liveness;
    this.#socket = socket;
  }

  /** Begins a session: durable before it has an extent. */
  static async begin(options: SessionsOptions): Promise<Sessions> {
    const { files, liveness, clock, randomness } = options;
    const own = asBuffer(randomness.bytes(sessionBytes)).toString('hex');
    const socket = await liveness.listen(own);
    try {
      const started = new Date(clock.nowMicros() / 1000).toISOString();
      const record: SessionRecord = { pid: process.pid, started, socket: socket.name };
      const path = `${sessionsFolder}/${own}`;
      await writeWholeFile(
        files,
        `${path}${unfinishedEnding}`,
        Buffer.from(JSON.stringify(record)),
      );
      await files.rename(`${path}${unfinishedEnding}`, `${path}${openEnding}`);
      await files.syncFolder(sessionsFolder);
      return new Sessions(options, own, socket);
    } catch (error) {
      await socket.close();
      throw error;
    }
  }

  /**
   * Whether other processes see that this session lives. One that was taken for dead must not
   * acknowledge an extent any more.
   */
  isInPlace(): boolean {
    return this.#files.isThere(`${sessionsFolder}/${this.own}${openEnding}`);
  }

  /** Whose extents are suspects, and which others live. What ended in order is neither. */
  async look(): Promise<{ readonly left: readonly string[]; readonly live: ReadonlySet<string> }> {
    const left: string[] = [];
    const live = new Set([this.own]);
    for (const name of await this.#files.list(sessionsFolder)) {
      const ending = name.endsWith(openEnding) ? openEnding : leftEnding;
      const session = name.slice(0, -ending.length);
      if (session === this.own || !isSession(session) || !name.endsWith(ending)) continue;
      const state = ending === leftEnding ? 'left' : await this.#claim(session);
      if (state === 'left') left.push(session);
      if (state === 'live') live.add(session);
    }
    return { left, live };
  }

  /** Nothing of a dead session is a suspect any more. */
  async settle(session: string): Promise<void> {
    await this.#files.remove(`${sessionsFolder}/${session}${leftEnding}`);
    await this.#files.syncFolder(sessionsFolder);
  }

  /** Ends this session in order. Whoever removes the directory ends it as well. */
  async end(): Promise<void> {
    try {
      await this.#files.remove(`${sessionsFolder}/${this.own}${openEnding}`);
      await this.#files.syncFolder(sessionsFolder);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    } finally {
      await this.#socket.close();
    }
  }

  /** Leaves this session as one that has died. */
  abandon(): Promise<void> {
    return this.#socket.close();
  }

  /** Takes a session for dead, unless it lives or may live. */
  async #claim(session: string): Promise<'left' | 'live' | 'ended'> {
    const path = `${sessionsFolder}/${session}${openEnding}`;
    try {
      const socket = await socketIn(this.#files, path);
      if (socket === undefined || (await this.#liveness.isListening(socket))) return 'live';
      await this.#files.rename(path, `${sessionsFolder}/${session}${leftEnding}`);
      await this.#files.syncFolder(sessionsFolder);
      await this.#liveness.remove(socket);
      return 'left';
    } catch (error) {
      // It has ended by itself, or another process has taken it.
      if (codeOf(error) === 'ENOENT') return 'ended';
      throw error;
    }
  }
}

/** What is noted of a session. One that has died counts as open until somebody has noticed. */
export function notedOf(files: ContentFiles, session: string): 'open' | 'left' | 'ended' {
  if (files.isThere(`${sessionsFolder}/${session}${openEnding}`)) return 'open';
  return files.isThere(`${sessionsFolder}/${session}${leftEnding}`) ? 'left' : 'ended';
}

/** Undefined when the record was changed: then nobody can tell whether the process lives. */
async function socketIn(files: ContentFiles, path: string): Promise<string | undefined> {
  const file = await files.open(path);
  try {
    const record: unknown = JSON.parse((await file.read(0, recordBytesMax)).toString());
    if (typeof record !== 'object' || record === null || !('socket' in record)) return undefined;
    return typeof record.socket === 'string' ? record.socket : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}
