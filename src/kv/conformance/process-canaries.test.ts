import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { nameOfBytes } from '../../base/bytes.js';
import { failuresOf } from '../../base/conformance/failures.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { decodeCounter, encodeCounter } from '../counter.js';
import type { CommitBatch, Entry, Store } from '../store.js';
import { wholeRange } from './batches.js';
import { processesConformance } from './processes.js';
import type { ConformanceSuite, OpenedStore, SpawnedStore } from './suite.js';
import { costly, sampled } from '../../../test/support/run-length.js';

// Processes that share one store, and each break the contract in one way: the suite detects every
// one. A process is a handle of its own on a store in memory, which no process holds.

interface Canary {
  readonly wrong: string;
  /** The methods in which the store of one process differs from a correct one. */
  readonly over?: (shared: Store) => Partial<Store>;
  /** The loss when a process is killed. */
  readonly atKill?: (shared: Store) => Promise<void>;
  /** The number of syncs for a number of commits. */
  readonly syncsOf?: (commits: number) => number;
  /** The tests of the section that must fail; all others must pass. */
  readonly caughtBy: readonly string[];
}

const sharesSyncs = 'shares one sync among concurrent commits';
const survivesKills = 'has every acknowledged commit after its process was killed';
const showsCommits = 'shows a commit acknowledged in one process to a read in another';
const isolates = 'isolates the commits of several processes and repeats no version';
const sumsUp = 'sums up the additions of several processes';

const everything = { start: Buffer.alloc(0) };

const canaries: readonly Canary[] = [
  { wrong: 'syncs for every commit', syncsOf: (commits) => commits, caughtBy: [sharesSyncs] },
  { wrong: 'never syncs', syncsOf: () => 0, caughtBy: [sharesSyncs] },
  {
    wrong: 'loses the last commit of a process that is killed',
    async atKill(shared) {
      const { entries } = await shared.range(everything, wholeRange);
      const last = entries.toSorted((left, right) => right.version - left.version)[0];
      if (last !== undefined) await shared.commit(deletionOf(last));
    },
    caughtBy: [survivesKills],
  },
  {
    wrong: 'loses a part of the last commit of a process that is killed',
    async atKill(shared) {
      const { entries } = await shared.range(everything, wholeRange);
      const counter = entries.find(({ value }) => value[0] === encodeCounter(0)[0]);
      if (counter === undefined) return;
      const value = encodeCounter(decodeCounter(counter.value) - 1);
      await shared.commit({ checks: [], deletes: [], puts: [{ key: counter.key, value }] });
    },
    caughtBy: [survivesKills],
  },
  {
    wrong: 'reads what it has read before, until it writes that itself',
    over(shared) {
      const kept = new Map<string, Entry | undefined>();
      return {
        async get(key) {
          const name = nameOfBytes(key);
          if (!kept.has(name)) kept.set(name, await shared.get(key));
          return kept.get(name);
        },
        async commit(batch) {
          const result = await shared.commit(batch);
          if (result.ok) for (const { key } of batch.puts) kept.delete(nameOfBytes(key));
          return result;
        },
      };
    },
    caughtBy: [showsCommits, isolates],
  },
  {
    wrong: 'looks at checks before others have ended their commits',
    over: (shared) => ({
      async commit(batch) {
        const result = await shared.commit({ ...batch, puts: [], deletes: [], adds: [] });
        if (!result.ok) return result;
        await turn();
        return shared.commit({ ...batch, checks: [] });
      },
    }),
    caughtBy: [isolates],
  },
  {
    wrong: 'counts versions for itself',
    over(shared) {
      let version = 0;
      return {
        async commit(batch) {
          const result = await shared.commit(batch);
          return result.ok ? { ok: true, version: (version += 1) } : result;
        },
      };
    },
    caughtBy: [survivesKills, isolates, sumsUp],
  },
  {
    wrong: 'adds to what it has read',
    over: (shared) => ({
      async commit({ adds = [], ...batch }) {
        const found = await shared.getMany(adds.map(({ key }) => key));
        await turn();
        const sums = adds.map(({ key, delta }, index) => {
          const before = found[index]?.value;
          return { key, value: encodeCounter((before ? decodeCounter(before) : 0) + delta) };
        });
        return shared.commit({ ...batch, puts: [...batch.puts, ...sums] });
      },
    }),
    caughtBy: [survivesKills, sumsUp],
  },
];

function deletionOf({ key }: Entry): CommitBatch {
  return { checks: [], puts: [], deletes: [key] };
}

/** The store of one process, until the process ends. */
class ProcessStore implements Store {
  readonly #store: Store;
  #hasEnded = false;

  constructor(shared: Store, over: Partial<Store>) {
    this.#store = {
      get: (key) => shared.get(key),
      getMany: (keys) => shared.getMany(keys),
      range: (range, options) => shared.range(range, options),
      commit: (batch) => shared.commit(batch),
      close: () => Promise.resolve(),
      ...over,
    };
  }

  get: Store['get'] = (key) => this.#whileAlive(() => this.#store.get(key));
  getMany: Store['getMany'] = (keys) => this.#whileAlive(() => this.#store.getMany(keys));
  range: Store['range'] = (range, options) =>
    this.#whileAlive(() => this.#store.range(range, options));
  commit: Store['commit'] = (batch) => this.#whileAlive(() => this.#store.commit(batch));

  async close(): Promise<void> {
    this.#hasEnded = true;
    await this.#store.close();
  }

  /** A process that has ended meanwhile gives no answer. */
  async #whileAlive<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#hasEnded) throw new Error('the process has ended');
    const result = await call();
    if (this.#hasEnded) throw new Error('the process has ended');
    return result;
  }
}

function suiteOf({ over, atKill, syncsOf = () => 1 }: Canary): ConformanceSuite {
  return {
    name: 'processes with a wrong store',
    async open({ clock }): Promise<OpenedStore> {
      const shared = await openMemoryStore({ clock });
      let commits = 0;
      const counted = (parts: Partial<Store>): Partial<Store> => ({
        ...parts,
        commit(batch) {
          commits += 1;
          return (parts.commit ?? shared.commit.bind(shared))(batch);
        },
      });
      const started = () => new ProcessStore(shared, counted(over?.(shared) ?? {}));
      const spawned = (): SpawnedStore => {
        const store = started();
        let isRunning = true;
        return {
          store,
          async kill() {
            if (!isRunning) return;
            isRunning = false;
            await store.close();
            await atKill?.(shared);
          },
          disconnect: () => store.close(),
        };
      };
      const stats = () => ({ commits, syncs: commits === 0 ? 0 : syncsOf(commits) });
      return {
        store: started(),
        reopen: () => Promise.resolve(started()),
        spawn: () => Promise.resolve(spawned()),
        stats,
        dispose: () => shared.close(),
      };
    },
    capabilities: {
      persistent: true,
      processes: true,
      groupsCommits: true,
      versionsGlobal: true,
      member: false,
    },
  };
}

describe('the conformance suite, over several processes', () => {
  it('passes those that share a store as they should', async () => {
    const right = { wrong: 'is not wrong', caughtBy: [] };
    assert.deepEqual(await failuresOf(processesConformance, suiteOf(right)), []);
  });

  for (const canary of sampled(canaries)) {
    it(`catches a store that ${canary.wrong}`, costly(), async () => {
      assert.deepEqual(await failuresOf(processesConformance, suiteOf(canary)), canary.caughtBy);
    });
  }
});
