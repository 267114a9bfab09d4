import type { Access, ContainerAddress, ContainerProperties } from '../../services/blobs/types.js';
import { metadataHeaders } from '../operations/metadata.js';
import {
  accountEncryptionScope,
  containerAccessOf,
  containerOf,
  publicAccessHeaders,
  publicRead,
} from './container.js';
import type { BlobOperation } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';
import { leaseHeaders } from './state-headers.js';

interface Input {
  readonly address: ContainerAddress;
  readonly access: Access;
}

/**
 * Headers for features that no container has here; the cloud sends them in every answer as well.
 * Policies and legal holds are those of blobs.
 */
const absentFeatures = [
  'x-ms-has-immutability-policy',
  'false',
  'x-ms-has-legal-hold',
  'false',
  'x-ms-default-encryption-scope',
  accountEncryptionScope,
  'x-ms-deny-encryption-scope-override',
  'false',
];

function reading(
  headersOf: (container: ContainerProperties) => readonly string[],
): BlobOperation<Input, ContainerProperties> {
  return {
    access: publicRead('container'),
    bodyBytesMax: 0,

    parse(request) {
      return { address: containerOf(request), access: containerAccessOf(request) };
    },

    run({ address, access }, { backend }) {
      return backend.blobs.containers.get(address, access);
    },

    render(container) {
      const { modifiedMicros, metadata } = container;
      const headers = [...modifiedHeaders(modifiedMicros), ...metadataHeaders(metadata)];
      return { status: 200, headers: [...headers, ...headersOf(container)] };
    },
  };
}

/** `GET` or `HEAD /container?restype=container` (blob-service §7). */
export const getContainerProperties = reading(({ lease, publicAccess, hasImmutableStorage }) => [
  ...leaseHeaders(lease),
  ...publicAccessHeaders(publicAccess),
  ...absentFeatures,
  'x-ms-immutable-storage-with-versioning-enabled',
  String(hasImmutableStorage),
]);

/** `GET` or `HEAD /container?restype=container&comp=metadata` (blob-service §7). */
export const getContainerMetadata = reading(() => []);
