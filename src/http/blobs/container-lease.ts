import { containerConditions, containerOf } from './container.js';
import { leaseRoutes } from './lease.js';

/** `PUT /container?restype=container&comp=lease` (blob-service §10). */
export const containerLeaseRoutes = leaseRoutes({
  noun: 'Container',
  target: { resource: 'container', restype: 'container', comp: 'lease' },
  scope: 'container',
  byAccountOnly: true,

  conditionsOf(request) {
    return containerConditions(request, 'if-modified-since', 'if-unmodified-since');
  },

  run(action, conditions, request) {
    return request.backend.blobs.containers.lease(containerOf(request), action, { conditions });
  },
});
