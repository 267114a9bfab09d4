import { storeConformance } from '../../kv/conformance/index.js';
import { openMemoryStore } from './store.js';

storeConformance({
  name: 'the memory engine',
  async open(options) {
    const store = await openMemoryStore(options);
    return { store, dispose: () => store.close() };
  },
  capabilities: {
    persistent: false,
    processes: false,
    groupsCommits: false,
    versionsGlobal: true,
    member: true,
  },
});
