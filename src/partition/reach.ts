import type { Timers } from '../base/async/timers.js';
import { StoreClosedError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import { memberKey } from './keys.js';
import type { Members } from './members.js';

/** A store that has not answered one read after this time counts as away, in milliseconds. */
const answersWithinMs = 2_000;

/**
 * The names of the stores that do not answer now, or that cannot do all of their work; asks each of
 * them for one key. Rejects with `StoreClosedError` when a store was closed: the process ends.
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
