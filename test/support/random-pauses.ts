import type { Store } from '../../src/kv/store.js';
import type { SimRandom } from './sim-random.js';

const turnsMax = 12;

/**
 * The same store, but each call waits some turns before it begins and before it resolves. So the
 * order of concurrent calls depends on the seed alone, unless other work takes time.
 */
export function withRandomPauses(store: Store, random: SimRandom): Store {
  const slowly = async <T>(call: () => Promise<T>): Promise<T> => {
    await pause(random.int(turnsMax));
    const result = await call();
    await pause(random.int(turnsMax));
    return result;
  };
  return {
    get: (key) => slowly(() => store.get(key)),
    getMany: (keys) => slowly(() => store.getMany(keys)),
    range: (range, options) => slowly(() => store.range(range, options)),
    commit: (batch) => slowly(() => store.commit(batch)),
    close: () => store.close(),
  };
}

async function pause(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
}
