import { describe } from 'node:test';
import { storeConformance } from '../../kv/conformance/index.js';
import { guardsConformance } from '../../kv/conformance/members.js';
import type { ConformanceSuite } from '../../kv/conformance/suite.js';
import { transfersConformance } from '../../kv/conformance/transfers.js';
import { byLength, isLong, sampled } from '../../../test/support/run-length.js';
import { lmdbUnderTest } from '../../../test/support/engine-lmdb.js';

const capabilities = {
  persistent: true,
  processes: true,
  groupsCommits: true,
  versionsGlobal: true,
  member: true,
} as const;

const fenceRounds = byLength({ short: 3, long: 12 });

storeConformance({
  name: 'the LMDB engine',
  open: lmdbUnderTest,
  modelRuns: 30,
  fenceRounds,
  capabilities,
});

// Every read has its pages brought into the cache by a thread first.
if (isLong) {
  let faults = 0;
  storeConformance({
    name: 'the LMDB engine whose pages are not in the cache',
    open: (options) =>
      lmdbUnderTest({ ...options, durability: 'relaxed', faults: () => (faults += 1) }),
    modelRuns: 15,
    capabilities: { ...capabilities, processes: false },
  });
}

/** Ranges are read as they are where the system does not tell what is mapped. */
function withoutSyncs(): void {
  storeConformance({
    name: 'the LMDB engine without syncs, with ranges of the package',
    open: (options) => lmdbUnderTest({ ...options, durability: 'relaxed', rangesFrom: 'package' }),
    // Fewer random sequences: the engine runs them with syncs as well.
    modelRuns: 8,
    fenceRounds,
    // Other processes make no difference to when a commit is synced.
    capabilities: { ...capabilities, processes: isLong },
  });
}

/** All commits of this engine are ingests in the thread. */
function withIngestsInThread(): void {
  const name = 'the LMDB engine that ingests in a thread';
  describe(name, () => {
    const suite: ConformanceSuite = {
      name,
      open: (options) => lmdbUnderTest({ ...options, ingestsInThread: 'all' }),
      fenceRounds,
      capabilities,
    };
    guardsConformance(suite);
    transfersConformance(suite);
  });
}

for (const declare of sampled([withoutSyncs, withIngestsInThread], 1)) declare();
