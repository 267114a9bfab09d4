import { httpDate } from '../../wire/http/http-date.js';
import type { MessageChange, Renewal } from '../../services/queues/types.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import { oneMessageLoad } from './load.js';
import { messageBodyBytesMax, messageTextOf } from './message-body.js';
import { popReceiptOf, updateVisibilityOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly change: MessageChange;
}

/** `PUT /queue/messages/id`: without a body the text stays (queue-service §8.4). */
export const updateMessage: QueueOperation<Input, Renewal> = {
  access: objectAccess('update'),
  bodyBytesMax: messageBodyBytesMax,

  parse(request) {
    const queue = queueOf(request);
    const { exchange, query } = request;
    const { id } = resourceOf(request, 'message');
    const popReceipt = popReceiptOf(query);
    const visibilitySeconds = updateVisibilityOf(query);
    const change = { id, popReceipt, visibilitySeconds };
    if (exchange.body.length === 0) return { queue, change };
    return { queue, change: { ...change, text: messageTextOf(exchange) } };
  },

  run({ queue, change }, { backend, account }) {
    return backend.queues.updateMessage(account, queue, change);
  },

  load: oneMessageLoad,

  render({ popReceipt, nextVisibleMicros }) {
    const nextVisible = httpDate(nextVisibleMicros);
    const headers = ['x-ms-popreceipt', popReceipt, 'x-ms-time-next-visible', nextVisible];
    return { status: 204, headers };
  },
};
