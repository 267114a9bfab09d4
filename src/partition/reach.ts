import type { Timers } from '../base/async/timers.js';
import { StoreUnavailableError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import { memberKey } from './keys.js';
import type { Members } from './members.js';

/** A store that has not answered one read after this time counts as away, in milliseconds. */
const answersWithinMs = 2_000;

/**
 * The names of the stores that do not answer now; asks each of them for one key. Throws what a
 * store throws that does answer.
 */
export async function awayStores(members: Members, timers: Timers): Promise<ReadonlySet<string>> {
  const { names } = members;
  const found = await Promise.all(names.map((name) => doesAnswer(members.named(name), timers)));
  return new Set(names.filter((_, index) => found[index] === false));
}

function doesAnswer(store: MemberStore, timers: Timers): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = timers.start(answersWithinMs, resolve, false);
    store
      .get(memberKey)
      .then(
        () => resolve(true),
        (error: unknown) => {
          if (error instanceof StoreUnavailableError) resolve(false);
          else reject(error);
        },
      )
      .finally(() => timer.close());
  });
}
