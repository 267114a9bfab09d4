import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { QueueService, type QueueServiceOptions } from '../queues/queue-service.js';
import type { QueuePage, QueueQuery } from '../queues/types.js';
import type { PagingPolicy } from './paging-policy.js';
import { shapedQueues } from './shaped-queues.js';

/** A queue service that shapes its lists by a policy. All other operations are unchanged. */
export class ShapedQueueService extends QueueService {
  readonly #paging: PagingPolicy;

  constructor(options: QueueServiceOptions, paging: PagingPolicy) {
    super(options);
    this.#paging = paging;
  }

  override listQueues(
    account: string,
    query: QueueQuery,
    memory?: MemoryBudget,
  ): Promise<QueuePage> {
    const shape = this.#paging.shapeOf(['queues', account, query]);
    return shapedQueues((plain) => super.listQueues(account, plain, memory), query, shape);
  }
}
