import { renderMessages } from '../../wire/xml/queue-messages.js';
import type { DequeuedMessage } from '../../services/queues/types.js';
import { objectAccess } from '../operations/access.js';
import { xmlReply } from '../operations/replies.js';
import { countedMessages } from './dequeue-count.js';
import { messagesLoad } from './load.js';
import { dequeueVisibilityOf, messageCountOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly count: number;
  readonly visibilitySeconds: number;
}

/** `GET /queue/messages`: takes messages (spec queue-service §8.2). */
export const getMessages: QueueOperation<Input, readonly DequeuedMessage[]> = {
  access: objectAccess('process'),
  bodyBytesMax: 0,

  parse(request) {
    const queue = queueOf(request);
    const { exchange, query } = request;
    const count = messageCountOf(query);
    if (count === 1) exchange.operation = 'GetMessage';
    return { queue, count, visibilitySeconds: dequeueVisibilityOf(query, exchange.version) };
  },

  run({ queue, count, visibilitySeconds }, { backend, account }) {
    return backend.queues.getMessages(account, queue, { count, visibilitySeconds });
  },

  load: messagesLoad,

  render(messages, _input, { exchange }) {
    return xmlReply(200, renderMessages(countedMessages(messages, exchange.version)));
  },
};
