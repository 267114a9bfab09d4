import type { ServiceDescriptor } from './service-descriptor.js';

/** Table storage (table-service §1.1, §8.3). */
export const tableService = {
  name: 'table',
  title: 'Table',
  plural: 'tables',
  emulatorPort: 10_002,
  container: { noun: 'table', ignoresCase: true, partitions: 'by-key' },
  signature: {
    letter: 't',
    permissions: 'raud',
    delegable: [],
    scopes: ['object'],
    containerField: 'tn',
  },
} as const satisfies ServiceDescriptor;
