import { services } from '../../model/services/services.js';
import { containerAccess } from '../operations/access.js';
import type { StoredPolicies } from '../operations/signed-identifiers.js';
import { queueOf, type QueueRequest } from './request.js';

/** The access policies of queues (queue-service §4.3, §7.5). */
export const queuePolicies: StoredPolicies<QueueRequest> = {
  letters: services.queue.signature.permissions,
  byRole: { get: containerAccess('read'), set: containerAccess('write') },
  containerOf: queueOf,

  read({ backend, account }, queue) {
    return backend.queues.getSignedIdentifiers(account, queue);
  },

  write({ backend, account }, queue, identifiers) {
    return backend.queues.setSignedIdentifiers(account, queue, identifiers);
  },
};
