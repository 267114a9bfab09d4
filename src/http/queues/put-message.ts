import { renderMessages } from '../../wire/xml/queue-messages.js';
import type { NewMessage, PutReceipt } from '../../services/queues/types.js';
import { objectAccess } from '../operations/access.js';
import { emptyReply, xmlReply } from '../operations/replies.js';
import { oneMessageLoad } from './load.js';
import { messageBodyBytesMax, messageTextOf } from './message-body.js';
import { putVisibilityOf, timeToLiveOf } from './parameters.js';
import { queueOf, type QueueOperation } from './request.js';
import { messageVersions } from './versions.js';

interface Input {
  readonly queue: string;
  readonly message: NewMessage;
}

/** `POST /queue/messages` (queue-service §8.1). */
export const putMessage: QueueOperation<Input, PutReceipt> = {
  access: objectAccess('add'),
  bodyBytesMax: messageBodyBytesMax,

  parse(request) {
    const queue = queueOf(request);
    const { exchange, query } = request;
    const visibilitySeconds = putVisibilityOf(query, exchange.version);
    const timeToLiveSeconds = timeToLiveOf(query, exchange.version);
    const text = messageTextOf(exchange);
    return { queue, message: { text, visibilitySeconds, timeToLiveSeconds } };
  },

  run({ queue, message }, { backend, account }) {
    return backend.queues.putMessage(account, queue, message);
  },

  load: oneMessageLoad,

  render(receipt, _input, { exchange }) {
    if (exchange.version < messageVersions.putAnswer) return emptyReply(201);
    return xmlReply(201, renderMessages([receipt]));
  },
};
