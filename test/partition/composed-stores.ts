import { systemTimers } from '../../src/base/async/timers.js';
import type { Clock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { Members } from '../../src/partition/members.js';
import { admitMembers } from '../../src/partition/admission.js';
import { Operations } from '../../src/partition/operations/operations.js';
import type { OperationTools } from '../../src/partition/operations/tools.js';
import { openPartitionedStore } from '../../src/partition/store.js';

/** Cuts through the partitions of the conformance suite. */
export const cuts = ['', 'b', 'e', 'h'].map((name) =>
  partitionPrefix('tables', 'account', 2, name),
);

export function membersOf(stores: readonly MemberStore[]): Members {
  return new Members('s0', new Map(stores.map((store, index) => [`s${index}`, store])));
}

/** The stores as members of a key space, each by its name, as those of a server are. */
export async function admitted(members: Members): Promise<Members> {
  await admitMembers(members, { locationOf: (name) => name, randomness: systemRandomness });
  return members;
}

/**
 * What `addMember` takes in, at a location with the text of its name unless another one is given.
 */
export function addedAs(name: string, store: MemberStore, location = name) {
  return { name, store, location, randomness: systemRandomness, timers: systemTimers };
}

export function operationsOver(
  members: Members,
  clock: Clock,
  other: Partial<OperationTools> = {},
): Operations {
  return new Operations({
    catalogue: new Catalogue(members.home),
    members,
    clock,
    timers: systemTimers,
    pauseMillisMax: 1_000,
    pageEntriesMax: 100,
    ...other,
  });
}

/** A store over these: ranges of the partitions of the conformance suite, one in each store. */
export async function composed(stores: readonly MemberStore[], clock: Clock) {
  const members = await admitted(membersOf(stores));
  const options = { members, clock, timers: systemTimers, randomness: systemRandomness };
  const store = await openPartitionedStore(options);
  const operations = operationsOver(members, clock);
  const catalogue = new Catalogue(members.home);
  for (const at of cuts) {
    const { id } = (await catalogue.map()).at(at);
    const begun = await operations.beginSplit(id, at);
    if (begun.ok) await operations.carryOut(begun.operation);
  }
  for (const [index, { id }] of (await catalogue.map()).ranges.entries()) {
    const target = `s${(index + 1) % stores.length}`;
    const begun = await operations.beginMove(id, target);
    if (begun.ok) await operations.carryOut(begun.operation);
  }
  return { store, operations, catalogue, members };
}

/** The calls of a store that a process which moves ranges makes. */
const called = ['get', 'getMany', 'range', 'commit', 'fence', 'ingest'] as const;

/**
 * A store whose calls are seen; `look` may throw before a call, and after it, when it was carried
 * out. `methods`: those that are seen.
 */
export function watched(
  store: MemberStore,
  look: (moment: 'before' | 'after') => void,
  methods: readonly (keyof MemberStore)[] = called,
): MemberStore {
  const seen: ReadonlySet<string | symbol> = new Set(methods);
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      if (!seen.has(name)) return found.bind(target);
      return async (...given: unknown[]) => {
        look('before');
        const result: unknown = await Reflect.apply(found, target, given);
        look('after');
        return result;
      };
    },
  });
}

/** A store that can go away: its calls fail from then on, or only those that take samples. */
export function leaving(store: MemberStore) {
  const state = { isAway: false, failsSamples: false };
  const fail = (isFailing: boolean) => {
    if (isFailing) throw new StoreUnavailableError('The test has taken this store away.');
  };
  const sampled = watched(store, () => fail(state.isAway || state.failsSamples), ['sample']);
  return { state, store: watched(sampled, () => fail(state.isAway)) };
}
