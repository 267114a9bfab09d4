import type { Timers } from '../base/async/timers.js';
import { StoreClosedError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import { memberKey } from './keys.js';
import type { Members } from './members.js';

/** A store that does not answer one read within this time counts as away, in milliseconds. */
const answersWithinMs = 2_000;

/**
 * The names of the stores that are away: those that do not answer the read of one key, or that
 * report trouble. Rejects with `StoreClosedError` when a store was closed, because the process ends
 * then.
 */
export async function awayStores(members: Members, timers: Timers): Promise<ReadonlySet<string>> {
  const { names } = members;
  const found = await Promise.all(names.map((name) => doesAnswer(members.named(name), timers)));
  return new Set(names.filter((_, index) => found[index] === false));
}

function doesAnswer(store: MemberStore, timers: Timers): Promise<boolean> {
  if (store.trouble?.() !== undefined) return Promise.resolve(false);
  return new Promise((resolve, reject) => {
    const timer = timers.start(answersWithinMs, resolve, false);
    store
      .get(memberKey)
      .then(
        () => resolve(true),
        (error: unknown) => {
          if (error instanceof StoreClosedError) reject(error);
          else resolve(false);
        },
      )
      .finally(() => timer.close());
  });
}
