import type { ContainerAddress, NewContainer, Written } from '../../services/blobs/types.js';
import { createContainerAccess } from '../operations/access.js';
import { metadataOf } from '../operations/metadata.js';
import { containerOf, publicAccessOf, refuseEncryptionScope } from './container.js';
import type { BlobOperation } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

interface Input {
  readonly address: ContainerAddress;
  readonly container: NewContainer;
}

/** `PUT /container?restype=container` (blob-service §7). */
export const createContainer: BlobOperation<Input, Written> = {
  access: { ...createContainerAccess, byAccountOnly: true },
  bodyBytesMax: 0,

  parse(request) {
    refuseEncryptionScope(request);
    const metadata = metadataOf(request.exchange);
    return {
      address: containerOf(request),
      container: { metadata, publicAccess: publicAccessOf(request) },
    };
  },

  run({ address, container }, { backend }) {
    return backend.blobs.containers.create(address, container);
  },

  render({ modifiedMicros }) {
    return { status: 201, headers: modifiedHeaders(modifiedMicros) };
  },
};
