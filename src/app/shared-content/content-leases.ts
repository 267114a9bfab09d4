import type { Timer, Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { Liveness, LivenessHandle } from '../../content/files/sessions.js';
import type { Guard, GuardedBatch } from '../../kv/guards.js';
import type { MemberStore } from '../../kv/member-store.js';
import { storeKey } from '../../kv/partition-prefix.js';
import type { CommitResult, Store } from '../../kv/store.js';

/** How often a session is renewed. */
export const renewMs = 5_000;
/** A session that was not renewed for this time is dead. */
const silenceMs = 30_000;
/**
 * The time between two checks counts as at most this, because nobody can renew while the store is
 * away.
 */
const longestLookMs = 6_000;

export interface ContentLeasesOptions {
  readonly store: MemberStore;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  /** A name of the session's process that people can read. */
  readonly shown: string;
  /** Whether what the store has told of the commits of the session holds. */
  readonly isCertain: () => boolean;
  /** Called once when another process has taken this session for dead. */
  readonly onLost: () => void;
  /** Called with the error when a renewal fails, and with undefined when one succeeds again. */
  readonly onTrouble: (error: unknown) => void;
  /**
   * Called after each failed renewal, and after an end of the session that failed: holds it when
   * the store refuses commits because acknowledged ones are lost. Never rejects.
   */
  readonly holdIfLost: () => Promise<void>;
}

/** What this process has observed of the lease of another session. */
interface WatchedLease {
  readonly version: number | 'absent';
  readonly silentMs: number;
  readonly atMs: number;
}

/**
 * Tells which sessions are alive by leases in the key space, which every machine sees. A session
 * rewrites the key of its lease again and again. Other processes measure by their own clocks how
 * long it stays unchanged, so clocks need not agree. A second key never changes while the session
 * lives; it is the guard of all commits of the session, so none of them is applied once the key is
 * deleted.
 */
export class ContentLeases implements Liveness {
  readonly kind = 'lease';
  readonly #options: ContentLeasesOptions;
  readonly #watched = new Map<string, WatchedLease>();
  #guard: Guard | undefined;

  constructor(options: ContentLeasesOptions) {
    this.#options = options;
  }

  /** The guard that commits of the session must have, from `listen` on. */
  get guard(): Guard {
    invariant(this.#guard !== undefined, 'the session has begun');
    return this.#guard;
  }

  /** None of the commits that have the guard is applied afterwards. May be repeated. */
  async fence(): Promise<void> {
    const { store } = this.#options;
    await store.fence({ checks: [], puts: [], deletes: [this.guard.key] });
  }

  async listen(token: string): Promise<LivenessHandle> {
    const { store, shown } = this.#options;
    const keys = [leaseKey(token), sessionKey(token)];
    const result = await store.commit({
      checks: keys.map((key) => ({ key, version: 'absent' })),
      puts: keys.map((key) => ({ key, value: Buffer.from(shown) })),
      deletes: [],
    });
    invariant(result.ok, 'the name of a session is never used again');
    this.#guard = { key: sessionKey(token), version: result.version };
    const renewal = new Renewal(this.#options, token, result.version);
    return { name: token, close: () => renewal.end() };
  }

  async isListening(name: string): Promise<boolean> {
    const { store } = this.#options;
    const key = leaseKey(name);
    const entry = await store.get(key);
    // A promoted standby may lack the lease of a process that lives, and holds its session as soon
    // as it learns of the loss. So an absent lease has to be silent as well.
    if (!this.#isSilent(name, entry?.version ?? 'absent')) return true;
    if (entry === undefined) {
      this.#watched.delete(name);
      return false;
    }
    // After the fence the store applies no commit that the session has begun.
    const { ok } = await store.fence({
      checks: [{ key, version: entry.version }],
      puts: [],
      deletes: [key, sessionKey(name)],
    });
    return !ok;
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  #isSilent(name: string, version: number | 'absent'): boolean {
    const atMs = this.#options.clock.monotonicMs();
    const before = this.#watched.get(name);
    const isSame = before?.version === version;
    const silentMs = isSame ? before.silentMs + Math.min(atMs - before.atMs, longestLookMs) : 0;
    this.#watched.set(name, { version, silentMs, atMs });
    return silentMs >= silenceMs;
  }
}

/** A key space whose commits may depend on a guard. */
export interface GuardedStore extends Store {
  commit(batch: GuardedBatch): Promise<CommitResult>;
}

/**
 * The key space for the writes of a session: they are refused once the session was taken for dead.
 */
export function writtenBySession(store: GuardedStore, guard: Guard): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    commit: (batch) => store.commit({ ...batch, guard }),
    close: () => store.close(),
  };
}

/** Renews the lease of one session. */
class Renewal {
  readonly #options: ContentLeasesOptions;
  readonly #token: string;
  #version: number;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #isOver = false;
  #isFailing = false;

  constructor(options: ContentLeasesOptions, token: string, version: number) {
    this.#options = options;
    this.#token = token;
    this.#version = version;
    this.#schedule();
  }

  /**
   * Ends the session. False when that fails, so that others notice that it is silent, and when the
   * store has lost commits, or may have.
   */
  async end(): Promise<boolean> {
    await this.#running;
    // A renewal that was under way has begun to wait for the next one.
    this.#timer?.close();
    if (this.#isOver) return true;
    this.#isOver = true;
    const { store, isCertain, onTrouble, holdIfLost } = this.#options;
    if (this.#isFailing) {
      await holdIfLost();
      return false;
    }
    const deletes = [leaseKey(this.#token), sessionKey(this.#token)];
    try {
      await store.fence({ checks: [], puts: [], deletes });
      // The fence connects to a primary that took over meanwhile, and finds what it lacks.
      return isCertain();
    } catch (error) {
      onTrouble(error);
      await holdIfLost();
      return false;
    }
  }

  #schedule(): void {
    if (this.#isOver) return;
    this.#timer = this.#options.timers.start(renewMs, this.#begin, undefined);
  }

  readonly #begin = (): void => {
    this.#running = this.#renew().finally(() => this.#schedule());
  };

  async #renew(): Promise<void> {
    const { store, shown, onLost, onTrouble, holdIfLost } = this.#options;
    const key = leaseKey(this.#token);
    try {
      const result = await store.commit({
        checks: [{ key, version: this.#version }],
        puts: [{ key, value: Buffer.from(shown) }],
        deletes: [],
      });
      if (this.#isFailing) onTrouble(undefined);
      this.#isFailing = false;
      if (result.ok) this.#version = result.version;
      else if (result.actual === 'absent') {
        this.#isOver = true;
        onLost();
      }
      // Only this process writes the lease, so an earlier renewal was applied after all.
      else this.#version = result.actual;
    } catch (error) {
      if (!this.#isFailing) onTrouble(error);
      this.#isFailing = true;
      await holdIfLost();
    }
  }
}

function leaseKey(token: string): Uint8Array {
  return storeKey('content-lease', token);
}

function sessionKey(token: string): Uint8Array {
  return storeKey('content-session', token);
}
