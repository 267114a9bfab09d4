import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import type { DeletedContainerAddress } from '../../services/blobs/types.js';
import { emptyReply } from '../operations/replies.js';
import { accountOnly, containerOf } from './container.js';
import type { BlobOperation } from './request.js';

const nameHeader = 'x-ms-deleted-container-name';
const versionHeader = 'x-ms-deleted-container-version';

/**
 * `PUT /container?restype=container&comp=undelete` (blob-service §7). A container is restored under
 * the name that it had.
 */
export const restoreContainer: BlobOperation<DeletedContainerAddress, void> = {
  access: accountOnly('write'),
  bodyBytesMax: 0,

  parse(request) {
    const address = containerOf(request);
    const name = request.header(nameHeader);
    if (name === undefined) throw missingHeader(nameHeader);
    if (name !== address.container) throw invalidHeader(nameHeader, name);
    const version = request.header(versionHeader);
    if (version === undefined) throw missingHeader(versionHeader);
    return { ...address, version };
  },

  run(address, { backend }) {
    return backend.blobs.containers.restore(address);
  },

  render() {
    return emptyReply(201);
  },
};
