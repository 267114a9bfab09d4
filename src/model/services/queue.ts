import type { ServiceDescriptor } from './service-descriptor.js';

/** Queue storage (queue-service §1.1, §4.3). */
export const queueService = {
  name: 'queue',
  title: 'Queue',
  plural: 'queues',
  emulatorPort: 10_001,
  container: { noun: 'queue', ignoresCase: false, partitions: 'whole' },
  signature: {
    letter: 'q',
    permissions: 'raup',
    delegable: ['raup'],
    scopes: ['container', 'object'],
  },
} as const satisfies ServiceDescriptor;
