import type { Access, ContainerAddress } from '../../services/blobs/types.js';
import { emptyReply } from '../operations/replies.js';
import { accountOnly, containerAccessOf, containerOf } from './container.js';
import type { BlobOperation } from './request.js';

interface Input {
  readonly address: ContainerAddress;
  readonly access: Access;
}

/** `DELETE /container?restype=container`, with all its blobs (blob-service §7). */
export const deleteContainer: BlobOperation<Input, void> = {
  access: accountOnly('delete'),
  bodyBytesMax: 0,

  parse(request) {
    const access = containerAccessOf(request, 'if-modified-since', 'if-unmodified-since');
    return { address: containerOf(request), access };
  },

  run({ address, access }, { backend }) {
    return backend.blobs.containers.delete(address, access);
  },

  render() {
    return emptyReply(202);
  },
};
