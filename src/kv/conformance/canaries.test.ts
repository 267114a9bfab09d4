import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { nameOfBytes, startsWith, type Bytes } from '../../base/bytes.js';
import { withLateGuards } from '../../../test/support/late-guards.js';
import type { Clock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { counterBytes, decodeCounter, encodeCounter } from '../counter.js';
import type { Guarded } from '../guards.js';
import type { MemberStore } from '../member-store.js';
import { partitionPrefixLength } from '../partition-prefix.js';
import {
  keyBytesMax,
  type CommitBatch,
  type Entry,
  type KeyRange,
  type Put,
  type Store,
} from '../store.js';
import { commitsConformance } from './commits.js';
import { countersConformance } from './counters.js';
import { failuresOf } from '../../base/conformance/failures.js';
import { guardsConformance } from './members.js';
import { modelConformance } from './model.js';
import { rangesConformance } from './ranges.js';
import { readsConformance } from './reads.js';
import type { ConformanceSuite } from './suite.js';
import { transfersConformance } from './transfers.js';
import { versionsConformance } from './versions.js';
import { sampled } from '../../../test/support/run-length.js';

// Stores that each break the contract in one way: the suite detects every one.

interface Canary {
  readonly wrong: string;
  /** The methods in which the wrong store differs from a correct one. */
  readonly over: (store: MemberStore, clock: Clock) => Partial<MemberStore>;
  /** The store after it was closed and opened again; by default an empty one. */
  readonly reopen?: ((store: MemberStore, clock: Clock) => Promise<Store>) | undefined;
  readonly section: (suite: ConformanceSuite) => void;
  /** The tests of the section that must fail; all others must pass. */
  readonly caughtBy: readonly string[];
}

const everything: KeyRange = { start: Buffer.alloc(0) };
const refusesUnguarded =
  'refuses calls whose guard has another version or is absent, and does nothing';
const stopsAtFence = 'lets no guarded commit through behind a fence, whoever writes';

const doesAsModel = 'does what a sorted array does, whatever the operations';

const canaries: readonly Canary[] = [
  {
    wrong: 'takes versions from a clock that stands still',
    over: (store, clock) => ({ commit: versioned(store, () => clock.nowMicros()) }),
    section: versionsConformance,
    caughtBy: [
      'raises the versions of a partition while the clock stands still or steps back',
      'gives each of many concurrent commits a version of its own, at least the clock',
      'raises versions over all partitions, by one while the clock does not go on',
    ],
  },
  {
    wrong: 'says that versions rise over all partitions, but raises them in each',
    over(store, clock) {
      const last = new Map<string, number>();
      const next = ({ puts, deletes }: CommitBatch): number => {
        const key = puts[0]?.key ?? deletes[0] ?? Buffer.alloc(0);
        const prefix = String(prefixOf(key));
        const version = Math.max(clock.nowMicros(), (last.get(prefix) ?? 0) + 1);
        last.set(prefix, version);
        return version;
      };
      return { commit: versioned(store, next) };
    },
    section: versionsConformance,
    caughtBy: ['raises versions over all partitions, by one while the clock does not go on'],
  },
  {
    wrong: 'reads keys in the order in which it has them',
    over: (store) => ({
      getMany: (keys) => store.getMany(keys.toSorted((left, right) => Buffer.compare(left, right))),
    }),
    section: readsConformance,
    caughtBy: [
      'returns many keys in the order asked, missing and repeated ones too',
      'returns keys of several partitions, in the order asked',
    ],
  },
  {
    wrong: 'takes an empty value for an absent key',
    over: (store) => ({
      async get(key) {
        const entry = await store.get(key);
        return entry?.value.length === 0 ? undefined : entry;
      },
    }),
    section: readsConformance,
    caughtBy: ['keeps empty values apart from absent keys'],
  },
  {
    wrong: 'cuts values off at 64 KiB',
    over: (store) => ({
      commit: (batch) => store.commit({ ...batch, puts: batch.puts.map(cutOff) }),
    }),
    section: readsConformance,
    caughtBy: ['keeps large values whole'],
  },
  {
    wrong: 'reads values into memory that it uses again',
    over(store) {
      const memory = Buffer.alloc(16);
      return {
        async get(key) {
          const entry = await store.get(key);
          if (entry === undefined || entry.value.length > memory.length) return entry;
          memory.set(entry.value);
          return { ...entry, value: memory.subarray(0, entry.value.length) };
        },
      };
    },
    section: readsConformance,
    caughtBy: ['returns values that later reads and commits leave as they are'],
  },
  {
    wrong: 'reads keys that it could not have',
    over: (store) => ({
      get: (key) => (isLegal(key) ? store.get(key) : Promise.resolve(undefined)),
    }),
    section: readsConformance,
    caughtBy: ['takes keys up to the limit and refuses longer and empty ones'],
  },
  {
    wrong: 'leaves out what is to be used without handing it over',
    over: (store) => ({
      range: (range, { use: _use, ...options }) => store.range(range, options),
    }),
    section: rangesConformance,
    caughtBy: ['hands over what is to be used, in order and in place, and leaves it out'],
  },
  {
    wrong: 'returns an empty page where a partition ends',
    over: (store) => ({
      async range(range, options) {
        const page = await store.range(range, options);
        const [first] = page.entries;
        if (first === undefined || range.start.length === 0) return page;
        const isWithin = startsWith(first.key, prefixOf(range.start));
        return isWithin ? page : { entries: [], more: true };
      },
    }),
    section: rangesConformance,
    caughtBy: ['visits the entries of many partitions, where pages may end'],
  },
  {
    wrong: 'reads a page in two parts',
    over: (store) => ({
      async range(range, options) {
        const { entries, more } = await store.range(range, options);
        const half = entries.length >> 1;
        if (half === 0) return { entries, more };
        await turn();
        const rest = await store.getMany(entries.slice(half).map(({ key }) => key));
        return {
          entries: [...entries.slice(0, half), ...rest.flatMap((each) => each ?? [])],
          more,
        };
      },
    }),
    section: rangesConformance,
    caughtBy: ['never shows a commit half in a page'],
  },
  {
    wrong: 'writes although a check has failed',
    over: (store) => ({
      async commit(batch) {
        const result = await store.commit(batch);
        if (!result.ok) await store.commit({ ...batch, checks: [] });
        return result;
      },
    }),
    section: commitsConformance,
    caughtBy: [
      'tells the first check that failed and what it found',
      'lets one of many commits win that want the same key to be absent',
    ],
  },
  {
    wrong: 'writes a commit in two parts',
    over: (store) => ({
      async commit({ puts, ...batch }) {
        const result = await store.commit({ ...batch, puts: puts.slice(0, 1) });
        if (!result.ok || puts.length < 2) return result;
        await turn();
        await store.commit({ checks: [], puts: puts.slice(1), deletes: [] });
        return result;
      },
    }),
    section: commitsConformance,
    caughtBy: [
      'applies a commit of many writes whole',
      'never shows a commit half to a concurrent read',
    ],
  },
  {
    wrong: 'reads many keys in two parts',
    over: (store) => ({
      async getMany(keys) {
        const half = keys.length >> 1;
        const first = await store.getMany(keys.slice(0, half));
        await turn();
        return [...first, ...(await store.getMany(keys.slice(half)))];
      },
    }),
    section: commitsConformance,
    caughtBy: ['never shows a commit half to a concurrent read'],
  },
  {
    wrong: 'looks at checks before others have ended their commits',
    over: (store) => ({
      async commit(batch) {
        const result = await store.commit({ ...batch, puts: [], deletes: [], adds: [] });
        if (!result.ok) return result;
        await turn();
        return store.commit({ ...batch, checks: [] });
      },
    }),
    section: commitsConformance,
    caughtBy: [
      'lets one of many commits win that want the same key to be absent',
      'isolates concurrent commits: no update of a counter is lost',
      'refuses every call after it was closed, and may be closed twice',
    ],
  },
  {
    wrong: 'never ends when it is closed',
    over: () => ({ close: () => new Promise(() => undefined) }),
    section: commitsConformance,
    caughtBy: ['refuses every call after it was closed, and may be closed twice'],
  },
  {
    wrong: 'reads whatever the guard',
    over: (store) => ({
      get: (key) => store.get(key),
      getMany: (keys) => store.getMany(keys),
      range: (range, options) => store.range(range, withoutGuard(options)),
    }),
    section: guardsConformance,
    caughtBy: [refusesUnguarded, 'reads guard and data in one snapshot'],
  },
  {
    wrong: 'reads the guard before the data',
    over: (store) => ({
      async get(key, options) {
        await store.get(key, options);
        await turn();
        return store.get(key);
      },
    }),
    section: guardsConformance,
    caughtBy: ['reads guard and data in one snapshot'],
  },
  {
    wrong: 'commits whatever the guard',
    over: (store) => ({ commit: (batch) => store.commit(withoutGuard(batch)) }),
    section: guardsConformance,
    caughtBy: [refusesUnguarded, stopsAtFence],
  },
  {
    wrong: 'looks at the checks before the guard',
    over: (store) => ({
      async commit({ guard, ...batch }) {
        const found = await store.getMany(batch.checks.map(({ key }) => key));
        const at = found.findIndex(
          (entry, index) => entry && batch.checks[index]?.version === 'absent',
        );
        if (at !== -1)
          return { ok: false, failedCheck: at, actual: found[at]?.version ?? 'absent' };
        return store.commit({ ...batch, ...(guard !== undefined && { guard }) });
      },
    }),
    section: guardsConformance,
    caughtBy: [refusesUnguarded],
  },
  {
    wrong: 'lets commits through behind a fence',
    over: (store) => withLateGuards(store),
    section: guardsConformance,
    caughtBy: [stopsAtFence],
  },
  {
    wrong: 'ingests entries as a commit would',
    over: (store) => ({
      async ingest({ entries, deletes, guard }) {
        await store.commit({ ...batchOf(entries, deletes), ...(guard !== undefined && { guard }) });
      },
    }),
    section: transfersConformance,
    caughtBy: [
      'keeps the versions of ingested entries, older and newer than what is there',
      'gives commits versions above the floor and above all that was ingested',
      'refuses what cannot be ingested, and applies nothing of it',
    ],
  },
  {
    wrong: 'knows nothing of a floor',
    over: (store) => ({ ingest: (ingestion) => store.ingest({ ...ingestion, floor: 0 }) }),
    section: transfersConformance,
    caughtBy: [
      'gives commits versions above the floor and above all that was ingested',
      'refuses what cannot be ingested, and applies nothing of it',
    ],
  },
  {
    wrong: 'forgets a floor when it is closed',
    over: () => ({}),
    async reopen(store, clock) {
      const again = await openMemoryStore({ clock });
      const { entries } = await store.range(everything, { limit: 10_000, bytesMax: Infinity });
      await again.ingest({ entries, deletes: [], floor: 0 });
      return again;
    },
    section: transfersConformance,
    caughtBy: ['obeys a floor when opened again with a clock an hour back'],
  },
  {
    wrong: 'samples more than the range',
    over: (store) => ({ sample: (_, cuts, options) => store.sample(everything, cuts, options) }),
    section: transfersConformance,
    caughtBy: [
      'tells about how much a range holds, and nothing of what is outside',
      'cuts at keys of the range in order, each once, as far as there are any',
    ],
  },
  {
    wrong: 'cuts a range into parts of as many keys',
    over: (store) => ({
      async sample(range, cuts, options) {
        const sample = await store.sample(range, cuts, options);
        const { entries } = await store.range(range, { limit: 10_000, bytesMax: Infinity });
        const at = (part: number) => Math.ceil((entries.length * part) / (cuts + 1));
        const keys = sample.cuts.flatMap((_, part) => entries[at(part + 1)]?.key ?? []);
        return { ...sample, cuts: [...new Set(keys)] };
      },
    }),
    section: transfersConformance,
    caughtBy: ['cuts a range into parts that are about even in bytes'],
  },
  {
    wrong: 'adds to counters although a check of the commit fails',
    over: (store) => ({
      async commit(batch) {
        const result = await store.commit(batch);
        if (!result.ok) await store.commit({ ...batchOf([], []), adds: batch.adds ?? [] });
        return result;
      },
    }),
    section: countersConformance,
    caughtBy: ['adds nothing when a check fails'],
  },
  {
    wrong: 'keeps the version of a counter when it adds to it',
    over(store) {
      const versions = new Map<string, number>();
      const kept = (entry: Entry): Entry => {
        if (entry.value.length !== counterBytes) return entry;
        const name = nameOfBytes(entry.key);
        const version = versions.get(name) ?? entry.version;
        versions.set(name, version);
        return { ...entry, version };
      };
      return {
        async getMany(keys) {
          return (await store.getMany(keys)).map((entry) => entry && kept(entry));
        },
        async get(key) {
          const entry = await store.get(key);
          return entry && kept(entry);
        },
      };
    },
    section: countersConformance,
    caughtBy: ['gives a counter the version of its last commit, which a check can demand'],
  },
  {
    wrong: 'adds to what it has read',
    over: (store) => ({
      async commit({ adds = [], ...batch }) {
        const found = await store.getMany(adds.map(({ key }) => key));
        await turn();
        const sums = adds.map(({ key, delta }, index) => {
          const before = found[index]?.value;
          return { key, value: encodeCounter((before ? decodeCounter(before) : 0) + delta) };
        });
        return store.commit({ ...batch, puts: [...batch.puts, ...sums] });
      },
    }),
    section: countersConformance,
    caughtBy: [
      'sums up the additions of many concurrent commits',
      'adds nothing when a check fails',
    ],
  },
  {
    wrong: 'leaves out additions below 0',
    over: (store) => ({
      commit: (batch) =>
        store.commit({ ...batch, adds: batch.adds?.filter(({ delta }) => delta >= 0) ?? [] }),
    }),
    section: countersConformance,
    caughtBy: [
      'adds to a counter, which is 0 where there is none and may fall below',
      'sums up the additions of many concurrent commits',
    ],
  },
  {
    wrong: 'applies a commit without the additions that make no counter',
    over: (store) => ({
      commit: (batch) =>
        store.commit(batch).catch((error: unknown) => {
          if (batch.adds === undefined) throw error;
          return store.commit({ ...batch, adds: [] });
        }),
    }),
    section: countersConformance,
    caughtBy: ['refuses an addition that makes no counter, and applies nothing of its commit'],
  },
  {
    wrong: 'forgets its data when it is closed',
    over: () => ({}),
    reopen: (_, clock) => openMemoryStore({ clock }),
    section: versionsConformance,
    caughtBy: ['keeps data, and keeps raising versions, when opened again with an older clock'],
  },
  {
    wrong: 'counts versions instead of taking them from the clock',
    over(store) {
      let last = 1_800_000_000_000_000;
      return { commit: versioned(store, () => (last += 1)) };
    },
    section: versionsConformance,
    caughtBy: [
      'takes versions from the clock',
      'gives each of many concurrent commits a version of its own, at least the clock',
      'raises versions over all partitions, by one while the clock does not go on',
    ],
  },
  {
    wrong: 'orders keys by signed bytes',
    over: (store) => ({
      async range(range, options) {
        const page = await store.range(range, options);
        const entries = page.entries.toSorted((left, right) => compareSigned(left.key, right.key));
        return { ...page, entries };
      },
    }),
    section: modelConformance,
    caughtBy: [doesAsModel],
  },
  {
    wrong: 'has one entry more in a page than its limit',
    over: (store) => ({
      range: (range, options) => store.range(range, { ...options, limit: options.limit + 1 }),
    }),
    section: modelConformance,
    caughtBy: [doesAsModel],
  },
  {
    wrong: 'reads every range forwards',
    over: (store) => ({
      range: (range, options) => store.range(range, { ...options, reverse: false }),
    }),
    section: modelConformance,
    caughtBy: [doesAsModel],
  },
  {
    wrong: 'has the end of a range in it',
    over: (store) => ({
      range: ({ start, end }, options) =>
        store.range(end === undefined ? { start } : { start, end: after(end) }, options),
    }),
    section: modelConformance,
    caughtBy: [doesAsModel],
  },
  {
    wrong: 'looks at the first check of a commit alone',
    over: (store) => ({
      commit: (batch) => store.commit({ ...batch, checks: batch.checks.slice(0, 1) }),
    }),
    section: modelConformance,
    caughtBy: [doesAsModel],
  },
  {
    wrong: 'forgets what a commit deletes beside what it puts',
    over: (store) => ({
      commit: (batch) => store.commit(batch.puts.length > 0 ? { ...batch, deletes: [] } : batch),
    }),
    section: modelConformance,
    caughtBy: [doesAsModel],
  },
];

/** The key next to another one. */
function after(key: Bytes): Bytes {
  return Buffer.concat([key, Buffer.alloc(1)]);
}

function compareSigned(left: Bytes, right: Bytes): number {
  const flipped = (key: Bytes) => key.map((byte) => byte ^ 0x80);
  return Buffer.compare(flipped(left), flipped(right));
}

function cutOff(put: Put): Put {
  return { ...put, value: put.value.subarray(0, 65_536) };
}

function isLegal(key: Bytes): boolean {
  return key.length > 0 && key.length <= keyBytesMax;
}

function withoutGuard<T extends Guarded>(options: T): Omit<T, 'guard'> {
  const { guard, ...others } = options;
  return guard === undefined ? options : others;
}

function batchOf(puts: readonly Entry[], deletes: readonly Bytes[]): CommitBatch {
  return { checks: [], puts, deletes };
}

function prefixOf(key: Bytes): Bytes {
  return key.subarray(0, partitionPrefixLength(key));
}

/** Commits that return another version than their entries have. */
function versioned(store: Store, next: (batch: CommitBatch) => number): Store['commit'] {
  return async (batch) => {
    const result = await store.commit(batch);
    return result.ok ? { ok: true, version: next(batch) } : result;
  };
}

function suiteOver({ over, reopen }: Pick<Canary, 'over' | 'reopen'>): ConformanceSuite {
  return {
    name: 'a wrong store',
    async open({ clock }) {
      const right = await openMemoryStore({ clock });
      const store: MemberStore = {
        get: (key, options) => right.get(key, options),
        getMany: (keys, options) => right.getMany(keys, options),
        range: (range, options) => right.range(range, options),
        commit: (batch) => right.commit(batch),
        fence: (batch) => right.fence(batch),
        ingest: (ingestion) => right.ingest(ingestion),
        sample: (range, cuts, options) => right.sample(range, cuts, options),
        close: () => right.close(),
        ...over(right, clock),
      };
      const opened = { store, dispose: () => right.close() };
      return reopen === undefined ? opened : { ...opened, reopen: () => reopen(right, clock) };
    },
    callMillisMax: 1_000,
    // The usual number of runs misses this fault about once in a hundred times.
    modelRuns: 600,
    capabilities: {
      persistent: reopen !== undefined,
      processes: false,
      groupsCommits: false,
      versionsGlobal: true,
      member: true,
    },
  };
}

describe('the conformance suite', () => {
  for (const { wrong, over, reopen, section, caughtBy } of sampled(canaries, 8)) {
    it(`catches a store that ${wrong}`, async () => {
      assert.deepEqual(await failuresOf(section, suiteOver({ over, reopen })), caughtBy);
    });
  }
});
