import { containerAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { queueOf, type QueueOperation } from './request.js';

/** `DELETE /queue`, with all its messages (queue-service §7.2). */
export const deleteQueue: QueueOperation<string, void> = {
  access: containerAccess('delete'),
  bodyBytesMax: 0,

  parse: queueOf,

  run(queue, { backend, account }) {
    return backend.queues.deleteQueue(account, queue);
  },

  render() {
    return emptyReply(204);
  },
};
