import type { Store } from '../../src/kv/store.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { quantile } from '../load.js';
import { cutAt, keyOf, moveTo, spaceOver, withDirectories } from './space.js';

const valueBytes = 1_000;
const rows = 50_000;
/** Rows of one commit while the range is filled. */
const rowsEach = 100;
const partitions = 20;
/** Partitions from here on are in the range that moves; those before it in another one. */
const movedFrom = 10;
const writesEachSecond = 1_000;
const readsEachSecond = 1_000;
const quietMs = 4_000;

interface Latencies {
  readonly writes: number[];
  readonly reads: number[];
}

class Load {
  readonly moved: Latencies = { writes: [], reads: [] };
  readonly others: Latencies = { writes: [], reads: [] };
  readonly #store: Store;
  readonly #under = new Set<Promise<void>>();
  #count = 0;
  #isOver = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** At even distances of time, whether earlier calls have ended or not. */
  async run(): Promise<void> {
    const beganMs = performance.now();
    while (!this.#isOver) {
      const due = ((performance.now() - beganMs) * writesEachSecond) / 1_000;
      for (; this.#count < due; this.#count += 1) this.#calls(this.#count);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(this.#under);
  }

  stop(): void {
    this.#isOver = true;
  }

  forget(): void {
    for (const { writes, reads } of [this.moved, this.others]) {
      writes.length = 0;
      reads.length = 0;
    }
  }

  #calls(count: number): void {
    const partition = count % partitions;
    const latencies = partition < movedFrom ? this.others : this.moved;
    const key = keyOf(partition, Math.floor(count / partitions) % (rows / partitions));
    const put = { key, value: Buffer.alloc(valueBytes, count) };
    const write = () => this.#store.commit({ checks: [], puts: [put], deletes: [] });
    this.#note(latencies.writes, write);
    if (count % (writesEachSecond / readsEachSecond) === 0) {
      this.#note(latencies.reads, () => this.#store.get(key));
    }
  }

  #note(latencies: number[], call: () => Promise<unknown>): void {
    const beganMs = performance.now();
    const noted = call().then(() => void latencies.push(performance.now() - beganMs));
    this.#under.add(noted);
    void noted.finally(() => this.#under.delete(noted));
  }
}

async function fill(store: Store): Promise<void> {
  const each = rows / partitions;
  for (let partition = 0; partition < partitions; partition += 1) {
    for (let from = 0; from < each; from += rowsEach) {
      const puts = Array.from({ length: rowsEach }, (_, at) => ({
        key: keyOf(partition, from + at),
        value: Buffer.alloc(valueBytes, at),
      }));
      await store.commit({ checks: [], puts, deletes: [] });
    }
  }
}

function shown(latencies: readonly number[]): string {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number) => quantile(sorted, share).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms`;
}

/** A move of half of the rows: its rate at rest, then its effect on calls. */
export async function benchMove(): Promise<readonly string[]> {
  return withDirectories(2, async (stores) => {
    const stepMs = new Map<MoveStep, number>();
    const space = await spaceOver(stores, (step) => stepMs.set(step, performance.now()));
    await cutAt(space, movedFrom);
    await fill(space.store);
    const megabytes = (rows * (1 - movedFrom / partitions) * valueBytes) / 1e6;
    const at = (step: MoveStep) => stepMs.get(step) ?? 0;
    const beganMs = performance.now();
    const began = process.cpuUsage();
    await moveTo(space, movedFrom, 's1');
    const { user, system } = process.cpuUsage(began);
    const wholeMs = performance.now() - beganMs;
    const copyMs = at('catch up') - at('copy');
    const rest =
      `move at rest: ${((megabytes * 1_000) / copyMs).toFixed(0)} MB/s copied, ` +
      `${((megabytes * 1_000) / wholeMs).toFixed(0)} MB/s with comparison and cleaning; ` +
      `${((user + system) / 1_000 / megabytes).toFixed(1)} ms of CPU a MB`;
    const load = new Load(space.store);
    const running = load.run();
    await new Promise((resolve) => setTimeout(resolve, quietMs));
    const before = [load.others.writes, load.others.reads].map(shown);
    load.forget();
    const movedMs = performance.now();
    await moveTo(space, movedFrom, 's0');
    const underMs = performance.now() - movedMs;
    load.stop();
    await running;
    return [
      rest,
      `move under ${writesEachSecond} writes/s and as many reads: ${(underMs / 1_000).toFixed(1)} s, ` +
        `writes pause ${(at('clean') - at('fence')).toFixed(0)} ms, ` +
        `reads ${(at('clean') - at('close')).toFixed(0)} ms`,
      `  calls of the range: writes ${shown(load.moved.writes)}; reads ${shown(load.moved.reads)}`,
      `  others before: writes ${before[0]}; reads ${before[1]}`,
      `  others during: writes ${shown(load.others.writes)}; reads ${shown(load.others.reads)}`,
    ];
  });
}
