import { yieldIfBusy } from '../../base/async/slice.js';
import type { DequeuedMessage } from '../../services/queues/types.js';
import { objectAccess } from '../operations/access.js';
import { messagesLoad } from './load.js';
import { messagesReply } from './messages-reply.js';
import { dequeueVisibilityOf, messageCountOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly count: number;
  readonly visibilitySeconds: number;
}

/** `GET /queue/messages`: dequeues messages (queue-service §8.2). */
export const getMessages: QueueOperation<Input, readonly DequeuedMessage[]> = {
  access: objectAccess('process'),
  bodyBytesMax: 0,

  parse(request) {
    const queue = queueOf(request);
    const { exchange, query } = request;
    const count = messageCountOf(query);
    return { queue, count, visibilitySeconds: dequeueVisibilityOf(query, exchange.version) };
  },

  describe: ({ count }) => (count === 1 ? { operation: 'GetMessage' } : {}),

  async run({ queue, count, visibilitySeconds }, { backend, account, exchange }) {
    if (count > 1) await yieldIfBusy(backend.clock);
    const options = { count, visibilitySeconds };
    return backend.queues.getMessages(account, queue, options, exchange.memory);
  },

  load: messagesLoad,

  render: (messages, _input, request) => messagesReply(messages, request),
};
