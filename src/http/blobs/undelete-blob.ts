import type { BlobAddress } from '../../services/blobs/types.js';
import { objectAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { blobOf } from './blob.js';
import type { BlobOperation } from './request.js';

/** `PUT /container/blob?comp=undelete` (blob-service §16.3). */
export const undeleteBlob: BlobOperation<BlobAddress, void> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    return blobOf(request);
  },

  run(address, { backend }) {
    return backend.blobs.undeleteBlob(address);
  },

  render() {
    return emptyReply(200);
  },
};
