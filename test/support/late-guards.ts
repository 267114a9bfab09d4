import { setTimeout as pause } from 'node:timers/promises';
import type { Guard } from '../../src/kv/guards.js';
import { guardRefusal } from '../../src/kv/guards.js';
import type { MemberStore } from '../../src/kv/member-store.js';

/** Long enough for a fence in between. */
const gapMs = 5;

/**
 * A faulty store: it checks the guard of a commit, and commits a moment later without it. So
 * commits that saw the former guard are applied after a `fence`.
 */
export function withLateGuards(store: MemberStore): MemberStore {
  const look = async (guard: Guard): Promise<void> => {
    const refusal = guardRefusal(guard, (await store.get(guard.key))?.version ?? 'absent');
    if (refusal !== undefined) throw refusal;
    await pause(gapMs);
  };
  return {
    get: (key, options) => store.get(key, options),
    getMany: (keys, options) => store.getMany(keys, options),
    range: (range, options) => store.range(range, options),
    async commit({ guard, ...batch }) {
      if (guard !== undefined) await look(guard);
      return store.commit(batch);
    },
    fence: (batch) => store.fence(batch),
    ingest: (ingestion) => store.ingest(ingestion),
    sample: (range, cuts, options) => store.sample(range, cuts, options),
    close: () => store.close(),
  };
}
