import { openMemoryStore } from '../engines/memory/store.js';
import { storeConformance } from './conformance/index.js';
import { withPartitionRule } from './partition-rule.js';

// The suite requires no more than the contract.
storeConformance({
  name: 'a store that promises no more than the contract',
  async open(options) {
    const store = withPartitionRule(await openMemoryStore(options));
    return { store, dispose: () => store.close() };
  },
  capabilities: {
    persistent: false,
    processes: false,
    groupsCommits: false,
    versionsGlobal: false,
    member: false,
  },
});
