import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startsWith, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { partitionPrefixLength } from '../partition-prefix.js';
import type { CommitBatch, Store } from '../store.js';
import { commitsConformance } from './commits.js';
import { rangesConformance } from './ranges.js';
import { readsConformance } from './reads.js';
import { casesOf, type TestCase } from './suite-test.js';
import type { ConformanceSuite } from './suite.js';
import { versionsConformance } from './versions.js';

// Stores that break the contract in one way each: the suite finds every one of them.

interface Canary {
  readonly wrong: string;
  /** What the wrong store does otherwise than a right one. */
  readonly over: (store: Store, clock: Clock) => Partial<Store>;
  readonly section: (suite: ConformanceSuite) => void;
  /** The tests of the section that fail; the others hold. */
  readonly caughtBy: readonly string[];
}

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
    wrong: 'never ends when it is closed',
    over: () => ({ close: () => new Promise(() => undefined) }),
    section: commitsConformance,
    caughtBy: ['refuses every call after it was closed, and may be closed twice'],
  },
];

function prefixOf(key: Bytes): Bytes {
  return key.subarray(0, partitionPrefixLength(key));
}

/** A commit that tells another version than the one that its entries have. */
function versioned(store: Store, next: (batch: CommitBatch) => number): Store['commit'] {
  return async (batch) => {
    const result = await store.commit(batch);
    return result.ok ? { ok: true, version: next(batch) } : result;
  };
}

function suiteOver(over: Canary['over']): ConformanceSuite {
  return {
    name: 'a wrong store',
    async open({ clock }) {
      const right = await openMemoryStore({ clock });
      const store: Store = {
        get: (key) => right.get(key),
        getMany: (keys) => right.getMany(keys),
        range: (range, options) => right.range(range, options),
        commit: (batch) => right.commit(batch),
        close: () => right.close(),
        ...over(right, clock),
      };
      return { store, dispose: () => right.close() };
    },
    callMillisMax: 1_000,
    capabilities: {
      persistent: false,
      processes: false,
      groupsCommits: false,
      versionsGlobal: true,
    },
  };
}

async function isFailing({ body }: TestCase): Promise<boolean> {
  const atEnd: (() => Promise<void>)[] = [];
  try {
    await body({ after: (done) => void atEnd.push(done) });
    return false;
  } catch {
    return true;
  } finally {
    for (const end of atEnd.toReversed()) await end();
  }
}

describe('the conformance suite', () => {
  for (const { wrong, over, section, caughtBy } of canaries) {
    it(`catches a store that ${wrong}`, async () => {
      const failed: string[] = [];
      for (const each of casesOf(() => section(suiteOver(over)))) {
        if (await isFailing(each)) failed.push(each.name);
      }
      assert.deepEqual(failed, caughtBy);
    });
  }
});
