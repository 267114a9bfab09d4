import type { Metadata } from '../../model/resources/metadata.js';
import type { Access, ContainerAddress, Written } from '../../services/blobs/types.js';
import { metadataOf } from '../operations/metadata.js';
import { accountOnly, containerAccessOf, containerOf } from './container.js';
import type { BlobOperation } from './request.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

interface Input {
  readonly address: ContainerAddress;
  readonly access: Access;
  readonly metadata: Metadata;
}

/** `PUT /container?restype=container&comp=metadata`: replaces all of it (blob-service §7). */
export const setContainerMetadata: BlobOperation<Input, Written> = {
  access: accountOnly('write'),
  bodyBytesMax: 0,

  parse(request) {
    return {
      address: containerOf(request),
      access: containerAccessOf(request, 'if-modified-since'),
      metadata: metadataOf(request.exchange),
    };
  },

  run({ address, access, metadata }, { backend }) {
    return backend.blobs.containers.setMetadata(address, metadata, access);
  },

  render({ modifiedMicros }) {
    return { status: 200, headers: modifiedHeaders(modifiedMicros) };
  },
};
