import type { QueueStatus } from '../../services/queues/types.js';
import { containerAccess } from '../operations/access.js';
import { metadataHeaders } from '../operations/metadata.js';
import { queueOf, type QueueOperation } from './request.js';

/** `GET` or `HEAD /queue?comp=metadata`: everything is in headers (queue-service §7.3). */
export const getQueueMetadata: QueueOperation<string, QueueStatus> = {
  access: containerAccess('read'),
  bodyBytesMax: 0,

  parse: queueOf,

  run(queue, { backend, account }) {
    return backend.queues.getQueue(account, queue);
  },

  render({ approximateMessageCount, metadata }) {
    const headers = ['Cache-Control', 'no-cache', ...metadataHeaders(metadata)];
    headers.push('x-ms-approximate-messages-count', String(approximateMessageCount));
    return { status: 200, headers };
  },
};
