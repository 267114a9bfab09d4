import type { Metadata } from '../../model/resources/metadata.js';
import { createContainerAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { metadataOf } from '../operations/metadata.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly metadata: Metadata;
}

/** `PUT /queue`: 204 when the queue exists with the same metadata (queue-service §7.1). */
export const createQueue: QueueOperation<Input, 'created' | 'existed'> = {
  access: createContainerAccess,
  bodyBytesMax: 0,

  parse(request) {
    return { queue: queueOf(request), metadata: metadataOf(request.exchange) };
  },

  run({ queue, metadata }, { backend, account }) {
    return backend.queues.createQueue(account, queue, metadata);
  },

  render(outcome) {
    return emptyReply(outcome === 'created' ? 201 : 204);
  },
};
