import { invariant } from '../../base/invariant.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import { checkQueueName } from '../../services/queues/queue-name.js';
import type { QueueService } from '../../services/queues/queue-service.js';
import { accountName, type ServiceBackend, type ServiceRequest } from '../operations/request.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Operation } from '../exchange/service.js';
import { parseQueuePath, type QueueResource } from './resource.js';

/** The backend of queue operations. */
export interface QueueBackend extends ServiceBackend {
  readonly queues: QueueService;
}

export type QueueOperation<Input = unknown, Output = unknown> = Operation<
  QueueRequest,
  Input,
  Output
>;

/** One request to the queue service. Throws `InvalidUri`. */
export class QueueRequest implements ServiceRequest<QueueBackend> {
  readonly backend: QueueBackend;
  readonly exchange: Exchange;
  readonly method: string;
  readonly resource: QueueResource;

  constructor(backend: QueueBackend, exchange: Exchange) {
    this.backend = backend;
    this.exchange = exchange;
    this.method = exchange.method;
    this.resource = parseQueuePath(exchange.resourcePath);
  }

  get account(): string {
    return accountName(this.exchange);
  }

  /** By lower-case name. Throws `InvalidInput` when the query string cannot be decoded. */
  get query(): QueryOptions {
    return this.exchange.queryOptionsByLowerName;
  }

  get container(): string | undefined {
    return this.resource.kind === 'service' ? undefined : this.resource.queue;
  }
}

/** The addressed queue; throws when the name is illegal (queue-service §5.1). */
export function queueOf({ resource }: Pick<QueueRequest, 'resource'>): string {
  invariant(resource.kind !== 'service', 'routed as an operation of a queue');
  checkQueueName(resource.queue);
  return resource.queue;
}
