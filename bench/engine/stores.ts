import { systemTimers } from '../../src/base/async/timers.js';
import { systemClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openEngine, type EngineSettings } from '../../src/app/open-engine.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import type { Store } from '../../src/kv/index.js';
import type { StoreName } from './kinds.js';

/** A store as a server opens it. */
export interface StoreEngine {
  readonly storage: 'memory' | 'directory';
  readonly durability: EngineSettings['durability'];
  readonly journal: EngineSettings['journal'];
  /** Whether work after commits is included in their cost. */
  readonly isDrained: boolean;
}

export const storeEngines: Readonly<Record<StoreName, StoreEngine>> = {
  memory: { storage: 'memory', durability: 'durable', journal: 'off', isDrained: false },
  lmdb: { storage: 'directory', durability: 'durable', journal: 'off', isDrained: false },
  'lmdb-relaxed': { storage: 'directory', durability: 'relaxed', journal: 'off', isDrained: false },
  journal: { storage: 'directory', durability: 'durable', journal: 'on', isDrained: false },
  'journal-drained': {
    storage: 'directory',
    durability: 'durable',
    journal: 'on',
    isDrained: true,
  },
};

export function openStore(
  { storage, durability, journal }: StoreEngine,
  directory: string,
): Promise<Store> {
  return openEngine(
    {
      storage: storage === 'memory' ? { kind: 'memory' } : { kind: 'directory', directory },
      durability,
      journal,
      clock: systemClock,
      storageClock: forwardClock(systemClock),
      timers: systemTimers,
      randomness: systemRandomness,
      logger: silentLogger,
      onFatal(error) {
        throw error;
      },
    },
    'exclusive',
  );
}
