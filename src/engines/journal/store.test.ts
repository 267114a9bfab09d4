import { mkdir } from 'node:fs/promises';
import { systemTimers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { storeConformance } from '../../kv/conformance/index.js';
import type { ConformanceSuite } from '../../kv/conformance/suite.js';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { byLength, sampled } from '../../../test/support/run-length.js';
import { openLmdbStore } from '../lmdb/store.js';
import { openMemoryStore } from '../memory/store.js';
import { DiskFiles } from './disk-files.js';
import { defaultJournalLimits, type JournalLimits } from './journal-limits.js';
import { openJournaledStore } from './store.js';

const common = { timers: systemTimers, randomness: systemRandomness };

async function overMemory(clock: Clock, limits?: JournalLimits) {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const store = await openJournaledStore({
    ...common,
    base: await openMemoryStore({ clock }),
    files: new DiskFiles({ directory, sync: true }),
    clock,
    ...(limits !== undefined && { limits }),
  });
  return {
    store,
    stats: () => store.stats(),
    async dispose() {
      await store.close();
      await remove();
    },
  };
}

async function overLmdb(clock: Clock, limits?: JournalLimits) {
  const { directory, remove } = await temporaryLocation();
  const open = async () =>
    openJournaledStore({
      ...common,
      base: await openLmdbStore({ directory, clock }),
      files: new DiskFiles({ directory, sync: true }),
      clock,
      ...(limits !== undefined && { limits }),
    });
  let store = await open();
  return {
    store,
    stats: () => store.stats(),
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async dispose() {
      await store.close();
      await remove();
    },
  };
}

const capabilities = {
  persistent: false,
  processes: false,
  groupsCommits: true,
  versionsGlobal: true,
  member: true,
} as const;

/** Of sequences that the same journal carries out in its usual mode as well. */
const modelRunsAgain = 8;

const amounts = { modelRuns: 30, fenceRounds: byLength({ short: 3, long: 12 }) };

const suites: readonly ConformanceSuite[] = [
  {
    name: 'a journal before the memory engine',
    open: ({ clock }) => overMemory(clock),
    ...amounts,
    capabilities,
  },

  {
    name: 'a journal before the memory engine that is told of each commit',
    open: ({ clock }) =>
      overMemory(clock, { ...defaultJournalLimits, tableBytesMax: 1, filesMax: 4 }),
    ...amounts,
    modelRuns: modelRunsAgain,
    capabilities: { ...capabilities, groupsCommits: false },
  },

  {
    name: 'a journal before the LMDB engine',
    open: ({ clock }) => overLmdb(clock),
    ...amounts,
    capabilities: { ...capabilities, persistent: true },
  },

  {
    name: 'a journal before the LMDB engine that is told of each commit',
    open: ({ clock }) =>
      overLmdb(clock, { ...defaultJournalLimits, tableBytesMax: 1, filesMax: 4 }),
    ...amounts,
    modelRuns: modelRunsAgain,
    capabilities: { ...capabilities, persistent: true, groupsCommits: false },
  },
];

/** Two of them in the short form of the tests. */
for (const suite of sampled(suites)) storeConformance(suite);
