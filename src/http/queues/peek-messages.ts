import { renderMessages } from '../../wire/xml/queue-messages.js';
import type { PeekedMessage } from '../../services/queues/types.js';
import { objectAccess } from '../operations/access.js';
import { xmlReply } from '../operations/replies.js';
import { countedMessages } from './dequeue-count.js';
import { messagesLoad } from './load.js';
import { messageCountOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly count: number;
}

/** `GET /queue/messages?peekonly=true`: looks and changes nothing (spec queue-service §8.3). */
export const peekMessages: QueueOperation<Input, readonly PeekedMessage[]> = {
  access: objectAccess('read'),
  bodyBytesMax: 0,

  parse(request) {
    const queue = queueOf(request);
    const count = messageCountOf(request.query);
    if (count === 1) request.exchange.operation = 'PeekMessage';
    return { queue, count };
  },

  run({ queue, count }, { backend, account }) {
    return backend.queues.peekMessages(account, queue, count);
  },

  load: messagesLoad,

  render(messages, _input, { exchange }) {
    return xmlReply(200, renderMessages(countedMessages(messages, exchange.version)));
  },
};
