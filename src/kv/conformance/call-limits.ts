import { within } from '../../base/async/deadline.js';
import { holdingTimers } from '../../base/async/timers.js';
import type { Bytes } from '../../base/bytes.js';
import { hasInstantVersions } from '../instant-versions.js';
import { canBeMember, type MemberStore } from '../member-store.js';
import type { Store } from '../store.js';

/** Much longer than any call takes: a call that has not settled by then is stuck. */
const callMillisDefault = 20_000;

/** The same store, whose calls are rejected when they take longer than `callMillisMax`. */
export function withCallLimits(store: Store, callMillisMax = callMillisDefault): Store {
  const limited = <Result>(name: string, call: Promise<Result>): Promise<Result> => {
    const late = () => new Error(`${name} did not settle within ${callMillisMax} ms`);
    return within(call, { limitMs: callMillisMax, timers: holdingTimers, late });
  };
  const contract: Store = {
    get: (key) => limited('get', store.get(key)),
    getMany: (keys) => limited('getMany', store.getMany(keys)),
    range: (range, options) => limited('range', store.range(range, options)),
    commit: (batch) => limited('commit', store.commit(batch)),
    close: () => limited('close', store.close()),
    ...(hasInstantVersions(store) && { versionNow: (key: Bytes) => store.versionNow(key) }),
  };
  if (!canBeMember(store)) return contract;
  const member: MemberStore = {
    ...contract,
    get: (key, options) => limited('get', store.get(key, options)),
    getMany: (keys, options) => limited('getMany', store.getMany(keys, options)),
    fence: (batch) => limited('fence', store.fence(batch)),
    ingest: (ingestion) => limited('ingest', store.ingest(ingestion)),
    sample: (range, cuts, options) => limited('sample', store.sample(range, cuts, options)),
  };
  return member;
}
