import type { Bytes } from '../../base/bytes.js';
import type { Add, Check, CommitBatch, Entry, Put } from '../../kv/store.js';
import { overtaken, untilCommitted } from '../containers/until-committed.js';
import type { BlobContext } from './blob-context.js';
import { attemptsMax } from './limits.js';

/** The checks and writes of one commit. A key is written once. */
export class Changes {
  readonly #checks: Check[] = [];
  readonly #puts: Put[] = [];
  readonly #deletes: Bytes[] = [];
  readonly #adds: Add[] = [];

  /** The entry must be as it was read. */
  checkRead(key: Bytes, entry: Entry | undefined): void {
    this.#checks.push({ key, version: entry?.version ?? 'absent' });
  }

  put(key: Bytes, value: Bytes): void {
    this.#puts.push({ key, value });
  }

  delete(key: Bytes): void {
    this.#deletes.push(key);
  }

  add(key: Bytes, delta: number): void {
    this.#adds.push({ key, delta });
  }

  batch(): CommitBatch {
    return {
      checks: this.#checks,
      puts: this.#puts,
      deletes: this.#deletes,
      adds: this.#adds,
    };
  }
}

/**
 * Plans and makes a commit. Repeats both when something that was read has changed meanwhile. `plan`
 * may throw; it returns a function that makes the result of the version of the commit. Throws
 * `ServerBusy` when every attempt conflicts.
 */
export async function commitChanges<T>(
  { store }: Pick<BlobContext, 'store'>,
  plan: (changes: Changes) => Promise<(version: number) => T>,
): Promise<T> {
  return untilCommitted(attemptsMax, async () => {
    const changes = new Changes();
    const result = await plan(changes);
    const committed = await store.commit(changes.batch());
    return committed.ok ? result(committed.version) : overtaken;
  });
}
