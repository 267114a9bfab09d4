import type { Metadata } from '../../model/resources/metadata.js';
import { containerAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { metadataOf } from '../operations/metadata.js';
import { queueOf, type QueueOperation } from './request.js';

interface Input {
  readonly queue: string;
  readonly metadata: Metadata;
}

/** `PUT /queue?comp=metadata`: replaces all of it (queue-service §7.4). */
export const setQueueMetadata: QueueOperation<Input, void> = {
  access: containerAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    return { queue: queueOf(request), metadata: metadataOf(request.exchange) };
  },

  run({ queue, metadata }, { backend, account }) {
    return backend.queues.setMetadata(account, queue, metadata);
  },

  render() {
    return emptyReply(204);
  },
};
