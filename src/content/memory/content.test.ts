import { contentConformance } from '../conformance/index.js';
import { openMemoryContent } from './content.js';

contentConformance({
  name: 'content in memory',
  async open() {
    let room = Infinity;
    const content = openMemoryContent({ bytesMax: () => room });
    return {
      content,
      leaveRoom: (bytes) => {
        room = bytes;
      },
      async count() {
        let extents = 0;
        for await (const step of content.scrub()) extents += step.extents;
        return extents;
      },
      dispose: () => content.close(),
    };
  },
  modelRuns: 60,
  capabilities: { persistent: false, damageable: false },
});
