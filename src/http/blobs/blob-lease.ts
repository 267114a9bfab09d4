import { readConditions } from '../../wire/blobs/conditions.js';
import { blobOf } from './blob.js';
import { leaseRoutes } from './lease.js';

/** `PUT /container/blob?comp=lease` (blob-service §10). */
export const blobLeaseRoutes = leaseRoutes({
  noun: 'Blob',
  target: { resource: 'blob', comp: 'lease' },
  scope: 'object',

  conditionsOf({ header, version }) {
    return readConditions(header, 'write', version);
  },

  run(action, conditions, request) {
    return request.backend.blobs.leaseBlob(blobOf(request), action, conditions);
  },
});
