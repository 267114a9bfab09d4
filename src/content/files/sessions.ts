import type { Clock } from '../../base/clock.js';
import { isListening, listenOn, removeSocket } from '../../base/lock-socket.js';
import { asBuffer } from '../../base/bytes.js';
import { codeOf } from '../../base/thrown.js';
import type { Randomness } from '../../base/randomness.js';
import type { ContentFiles } from './content-files.js';
import { isSession } from './extent-place.js';
import type { WaitingExtents } from './waiting-extents.js';
import { writeWholeFile } from './whole-file.js';

/** The folder with a file for each session that lives or has died. */
export const sessionsFolder = 'sessions';
const sessionBytes = 8;
/** The session lives, or its death was not noticed yet. */
const openEnding = '.open';
/** The session has died, and its extents are suspects. */
const leftEnding = '.left';
const unfinishedEnding = '.new';
/** Beside the file of a session: its extents are no suspects, whether it lives or has died. */
const heldEnding = '.held';
const recordBytesMax = 256 * 1024;
/** A record with this many numbers has fewer bytes than `recordBytesMax`. */
const waitingNumbersMax = 10_000;

/** Shows other processes that this one lives. */
export interface LivenessHandle {
  /** The name by which others look for it. */
  readonly name: string;
  /**
   * Stops showing it. False when that failed, so that others must notice that it is not renewed,
   * or when what the session knows of its commits is uncertain.
   */
  close(): Promise<boolean>;
}

/** Tells which processes live. */
export interface Liveness {
  /**
   * How processes show that they are alive. Sessions of another kind count as alive, because this
   * process cannot tell.
   */
  readonly kind: 'socket' | 'lease';
  /** Shows other processes that this one lives, until it ends. */
  listen(token: string): Promise<LivenessHandle>;
  /**
   * Whether the process that listens under this name lives. True when that is uncertain. After it
   * was false, no commit of that process can name an extent of the session.
   */
  isListening(name: string): Promise<boolean>;
  /** Removes what a dead process has left of its listening. */
  remove(name: string): Promise<void>;
}

/** Liveness by sockets in a folder: a socket stops listening when its process ends. */
export function socketLiveness(folder: string): Liveness {
  return {
    kind: 'socket',
    async listen(token) {
      const socket = await listenOn(folder, token);
      return { name: socket.name, close: () => socket.close().then(() => true) };
    },
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

/** The content of a session's file. */
interface SessionRecord {
  readonly pid: number;
  readonly started: string;
  /** The name under which its process listens, in the member of its kind of liveness. */
  readonly socket?: string;
  readonly lease?: string;
  /**
   * The numbers of its extents that waited for their commits when it was left in order: only these
   * are suspects. Absent: all are.
   */
  readonly waiting?: readonly number[];
}

/** The sessions of a content store: each opening has one, and its own is `own`. */
export class Sessions {
  /** The name of this session. Never used again. */
  readonly own: string;
  readonly #files: ContentFiles;
  readonly #liveness: Liveness;
  readonly #record: SessionRecord;
  readonly #handle: LivenessHandle;

  private constructor(
    { files, liveness }: SessionsOptions,
    { own, record, handle }: { own: string; record: SessionRecord; handle: LivenessHandle },
  ) {
    this.own = own;
    this.#files = files;
    this.#liveness = liveness;
    this.#record = record;
    this.#handle = handle;
  }

  /** Begins a session. Its file is durable when this resolves. */
  static async begin(options: SessionsOptions): Promise<Sessions> {
    const { files, liveness, clock, randomness } = options;
    const own = asBuffer(randomness.bytes(sessionBytes)).toString('hex');
    const handle = await liveness.listen(own);
    try {
      const started = new Date(clock.nowMicros() / 1000).toISOString();
      const record: SessionRecord = { pid: process.pid, started, [liveness.kind]: handle.name };
      await writeRecord(files, own, record);
      return new Sessions(options, { own, record, handle });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** How it shows that it is alive. */
  get kind(): Liveness['kind'] {
    return this.#liveness.kind;
  }

  /**
   * False when another process has taken this session for dead, so that it must not acknowledge
   * extents any more.
   */
  isInPlace(): boolean {
    return this.#files.isThere(`${sessionsFolder}/${this.own}${openEnding}`);
  }

  /**
   * The numbers of the extents of a dead session that are suspects; undefined when all of them are.
   * None are when another process has just settled it.
   */
  async waitingIn(session: string): Promise<ReadonlySet<number> | undefined> {
    const waiting = await this.#notedIn(session);
    if (!Array.isArray(waiting)) return undefined;
    const numbers = waiting.filter((each) => Number.isSafeInteger(each));
    return numbers.length === waiting.length ? new Set<number>(numbers) : undefined;
  }

  async #notedIn(session: string): Promise<unknown> {
    try {
      return await fieldIn(this.#files, `${sessionsFolder}/${session}${leftEnding}`, 'waiting');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /**
   * From now on the extents of this session are no suspects, also after it has died, until
   * `releaseHeld`. Durable when it resolves. Idempotent.
   */
  async hold(): Promise<void> {
    try {
      await (await this.#files.create(heldFile(this.own))).close();
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    await this.#files.syncFolder(sessionsFolder);
  }

  isHeld(session: string): boolean {
    return this.#files.isThere(heldFile(session));
  }

  /** The dead sessions (`left`), whose extents are suspects, and those that live or are held. */
  async look(): Promise<{ readonly left: readonly string[]; readonly live: ReadonlySet<string> }> {
    const left: string[] = [];
    const names = await this.#files.list(sessionsFolder);
    const live = new Set([this.own, ...heldAmong(names)]);
    for (const name of names) {
      const ending = name.endsWith(openEnding) ? openEnding : leftEnding;
      const session = name.slice(0, -ending.length);
      if (live.has(session) || !isSession(session) || !name.endsWith(ending)) continue;
      const state = ending === leftEnding ? 'left' : await this.#claim(session);
      if (state === 'left') left.push(session);
      if (state === 'live') live.add(session);
    }
    return { left, live };
  }

  /** Removes a dead session: its extents are no longer suspects. */
  async settle(session: string): Promise<void> {
    await this.#files.remove(`${sessionsFolder}/${session}${leftEnding}`);
    await this.#files.syncFolder(sessionsFolder);
  }

  /**
   * Ends this session: of its extents only those that wait for their commits are suspects; all are
   * when these are very many or cannot be noted, or when its commits are uncertain. The directory
   * may have been removed.
   */
  async end(waiting: WaitingExtents): Promise<void> {
    if (this.#liveness.kind === 'lease') return this.#endLease(waiting);
    try {
      await this.#settleOwn(waiting);
    } finally {
      await this.#handle.close();
    }
  }

  /**
   * The lease ends first, because that is the last call of the store, which may find that commits
   * are lost. If the lease remains, so does the file: whoever finds the lease by it removes both.
   */
  async #endLease(waiting: WaitingExtents): Promise<void> {
    if (await this.#handle.close()) await this.#settleOwn(waiting);
  }

  /** Leaves this session like one that has died. */
  async abandon(): Promise<void> {
    await this.#handle.close();
  }

  async #settleOwn(waiting: WaitingExtents): Promise<void> {
    await (waiting.count === 0 ? this.#removeOwn() : this.#note(waiting));
  }

  async #removeOwn(): Promise<void> {
    try {
      await this.#files.remove(`${sessionsFolder}/${this.own}${openEnding}`);
      await this.#files.syncFolder(sessionsFolder);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  async #note(waiting: WaitingExtents): Promise<void> {
    try {
      // The file keeps its name: others rename it once no commit of this session can be applied.
      if (waiting.count <= waitingNumbersMax && this.isInPlace()) {
        const record = { ...this.#record, waiting: [...waiting.numbers()] };
        await writeRecord(this.#files, this.own, record);
      }
    } catch {
      // Without the note more is looked at, and nothing is lost.
      const unfinished = `${sessionsFolder}/${this.own}${unfinishedEnding}`;
      await this.#files.remove(unfinished).catch(() => undefined);
    }
  }

  /** Marks a session as dead, unless it lives or may live. */
  async #claim(session: string): Promise<'left' | 'live' | 'ended'> {
    const path = `${sessionsFolder}/${session}${openEnding}`;
    try {
      const name = await fieldIn(this.#files, path, this.#liveness.kind);
      // With another content of its file it may live.
      if (typeof name !== 'string' || (await this.#liveness.isListening(name))) return 'live';
      await this.#files.rename(path, `${sessionsFolder}/${session}${leftEnding}`);
      await this.#files.syncFolder(sessionsFolder);
      await this.#liveness.remove(name);
      return 'left';
    } catch (error) {
      // It has ended, or another process has just marked it.
      if (codeOf(error) === 'ENOENT') return 'ended';
      throw error;
    }
  }
}

/** The sessions that are held; see `Sessions.hold`. */
export async function heldSessions(files: ContentFiles): Promise<readonly string[]> {
  return heldAmong(await files.list(sessionsFolder));
}

/** Sessions that were held are so no more: what the dead ones have left are suspects. */
export async function releaseHeld(files: ContentFiles): Promise<void> {
  for (const session of await heldSessions(files)) await files.remove(heldFile(session));
  await files.syncFolder(sessionsFolder);
}

function heldFile(session: string): string {
  return `${sessionsFolder}/${session}${heldEnding}`;
}

function heldAmong(names: readonly string[]): readonly string[] {
  return names
    .filter((name) => name.endsWith(heldEnding))
    .map((name) => name.slice(0, -heldEnding.length));
}

/** The state of a session by its file. A dead one is open until its death is noticed. */
export function notedOf(files: ContentFiles, session: string): 'open' | 'left' | 'ended' {
  if (files.isThere(`${sessionsFolder}/${session}${openEnding}`)) return 'open';
  return files.isThere(`${sessionsFolder}/${session}${leftEnding}`) ? 'left' : 'ended';
}

/** Writes the file of a session that lives, or another content of it. Durable when it resolves. */
async function writeRecord(
  files: ContentFiles,
  session: string,
  record: SessionRecord,
): Promise<void> {
  const path = `${sessionsFolder}/${session}`;
  const unfinished = `${path}${unfinishedEnding}`;
  await writeWholeFile(files, unfinished, Buffer.from(JSON.stringify(record)));
  await files.rename(unfinished, `${path}${openEnding}`);
  await files.syncFolder(sessionsFolder);
}

/** A field of the file of a session; undefined when there is none, or the file has another form. */
async function fieldIn(
  files: ContentFiles,
  path: string,
  field: keyof SessionRecord,
): Promise<unknown> {
  const file = await files.open(path);
  try {
    const bytes = await file.read(0, Math.min(file.bytes, recordBytesMax));
    const record: unknown = JSON.parse(bytes.toString());
    if (typeof record !== 'object' || record === null) return undefined;
    return Reflect.get(record, field);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}
