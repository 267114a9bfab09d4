import { storeConformance } from '../../../dist/src/kv/conformance/index.js';
import { cassandraUnderTest } from './test-stores.js';

storeConformance({
  name: 'the Cassandra engine',
  open: cassandraUnderTest,
  modelRuns: 15,
  capabilities: {
    persistent: true,
    processes: true,
    groupsCommits: true,
    versionsGlobal: false,
    member: false,
  },
});
