import { objectAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { queueOf, type QueueOperation } from './request.js';

/** `DELETE /queue/messages`: all of them, visible or not (queue-service §8.6). */
export const clearMessages: QueueOperation<string, void> = {
  access: objectAccess('delete'),
  bodyBytesMax: 0,

  parse: queueOf,

  run(queue, { backend, account }) {
    return backend.queues.clearMessages(account, queue);
  },

  render() {
    return emptyReply(204);
  },
};
