import type { HeldMessage } from '../../services/queues/types.js';
import { deleteMessageAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { resourceOf } from '../operations/request.js';
import { oneMessageLoad } from './load.js';
import { popReceiptOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input extends HeldMessage {
  readonly queue: string;
}

/** `DELETE /queue/messages/id` (queue-service §8.5). */
export const deleteMessage: QueueOperation<Input, void> = {
  access: deleteMessageAccess,
  bodyBytesMax: 0,

  parse(request) {
    const queue = queueOf(request);
    const { id } = resourceOf(request, 'message');
    return { queue, id, popReceipt: popReceiptOf(request.query) };
  },

  run(input, { backend, account }) {
    return backend.queues.deleteMessage(account, input.queue, input);
  },

  load: oneMessageLoad,

  render() {
    return emptyReply(204);
  },
};
