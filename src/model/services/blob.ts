import type { ServiceDescriptor } from './service-descriptor.js';

/** Blob storage (blob-service §1.1, §4.3). */
export const blobService = {
  name: 'blob',
  title: 'Blob',
  plural: 'blobs',
  emulatorPort: 10_000,
  container: { noun: 'container', ignoresCase: false, partitions: 'by-name' },
  signature: {
    letter: 'b',
    permissions: 'racwdxltmeiyf',
    // The permissions of an owner, of a contributor and of a reader of blobs.
    delegable: ['racwdxltmeiyf', 'racwdl', 'rl'],
    scopes: ['container', 'object'],
  },
} as const satisfies ServiceDescriptor;
