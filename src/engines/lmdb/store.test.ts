import { storeConformance } from '../../kv/conformance/index.js';
import { lmdbUnderTest } from '../../../test/support/engine-lmdb.js';

storeConformance({
  name: 'the LMDB engine',
  open: lmdbUnderTest,
  capabilities: {
    persistent: true,
    processes: true,
    groupsCommits: true,
    versionsGlobal: true,
    member: true,
  },
});

storeConformance({
  name: 'the LMDB engine that ingests in a thread',
  open: (options) => lmdbUnderTest({ ...options, ingestsInThread: true }),
  capabilities: {
    persistent: true,
    processes: true,
    groupsCommits: true,
    versionsGlobal: true,
    member: true,
  },
});

storeConformance({
  name: 'the LMDB engine without syncs',
  open: (options) => lmdbUnderTest({ ...options, durability: 'relaxed' }),
  capabilities: {
    persistent: true,
    processes: true,
    groupsCommits: true,
    versionsGlobal: true,
    member: true,
  },
});
