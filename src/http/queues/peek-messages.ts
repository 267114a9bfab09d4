import { yieldIfBusy } from '../../base/async/slice.js';
import type { PeekedMessage } from '../../services/queues/types.js';
import { objectAccess } from '../operations/access.js';
import { messagesLoad } from './load.js';
import { messagesReply } from './messages-reply.js';
import { messageCountOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly count: number;
}

/** `GET /queue/messages?peekonly=true`: reads without changes (queue-service §8.3). */
export const peekMessages: QueueOperation<Input, readonly PeekedMessage[]> = {
  access: objectAccess('read'),
  bodyBytesMax: 0,

  parse(request) {
    const queue = queueOf(request);
    const count = messageCountOf(request.query);
    return { queue, count };
  },

  describe: ({ count }) => (count === 1 ? { operation: 'PeekMessage' } : {}),

  async run({ queue, count }, { backend, account, exchange }) {
    if (count > 1) await yieldIfBusy(backend.clock);
    return backend.queues.peekMessages(account, queue, count, exchange.memory);
  },

  load: messagesLoad,

  render: (messages, _input, request) => messagesReply(messages, request),
};
